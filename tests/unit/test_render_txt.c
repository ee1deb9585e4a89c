/* SPDX-License-Identifier: MIT */
#include "render_fixture.h"

static void title_is_the_name(void **state)
{
	(void)state;
	assert_renders(render_title,
	               HEADER USER("a", "null", "hello")
	                   ENTRY("b", "\"a\"", "\"type\":\"session_info\",\"name\":\" x\\ty \""),
	               "x y\n");
}

static void title_is_the_first_text(void **state)
{
	(void)state;
	assert_renders(render_title,
	               HEADER USER("a", "null", "") MESSAGE("b", "\"a\"", "\"role\":\"assistant\",\"content\":\"no\"")
	                   MESSAGE("c", "\"b\"",
	                           "\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\\n one\"},"
	                           "{\"type\":\"image\",\"data\":\"\"},{\"type\":\"text\",\"text\":\"tw\\u0000o\"}]")
	                       USER("d", "\"c\"", "later"),
	               "one tw o\n");
	assert_renders(render_title, HEADER, "(no messages)\n");
	assert_renders(render_title, HEADER USER("a", "null", " \\n\\u00a0\\ufeff"), "(no messages)\n");
}

#define ASSISTANT(id, parent, text) MESSAGE(id, parent, "\"role\":\"assistant\",\"content\":" text)

/* Also where the name or what the user said has nothing that can be shown. */
static void else_it_is_the_first_answer(void **state)
{
	(void)state;
	assert_renders(render_title,
	               HEADER ASSISTANT("a", "null", "[{\"type\":\"thinking\",\"thinking\":\"hm\"}]")
	                   ASSISTANT("b", "\"a\"",
	                             "[{\"type\":\"text\",\"text\":\" \"},{\"type\":\"text\",\"text\":\"so\"},"
	                             "{\"type\":\"text\",\"text\":\"it\\u001b is\"}]")
	                       ASSISTANT("c", "\"b\"", "\"later\""),
	               "so it  is\n");
	assert_renders(render_title,
	               HEADER USER("a", "null", "\\u0001\\u0085 \\u2028") ASSISTANT("b", "\"a\"", "\"x\"")
	                   ENTRY("c", "\"b\"", "\"type\":\"session_info\",\"name\":\"\\u0007\""),
	               "x\n");
	assert_renders(render_title, HEADER USER("a", "null", " ") USER("b", "\"a\"", "y"), "y\n");
	assert_renders(render_title, HEADER ASSISTANT("a", "null", "[]"), "(no messages)\n");
}

static void a_title_is_one_line(void **state)
{
	(void)state;
	assert_renders(
	    render_title,
	    HEADER USER("a", "null", "a\\u0000b\\rc\\u001bd\\u007fe\\u0080f\\u0085g\\u009fh\\u2028i\\u2029j\\u00a0k"),
	    "a b c d e f g h i j\u00a0k\n");
}

#define NINE "\u00e9\U0001F600234567 "
#define NINETY NINE NINE NINE NINE NINE NINE NINE NINE NINE NINE

static void long_titles_are_cut(void **state)
{
	(void)state;
	assert_renders(render_title, HEADER USER("a", "null", " " NINETY NINETY "012345678901234567890 "),
	               NINETY NINETY "0123456789012345678\u2026\n");
	assert_renders(render_title, HEADER USER("a", "null", " " NINETY NINETY "01234567890123456789 "),
	               NINETY NINETY "01234567890123456789\n");
	assert_renders(render_title,
	               HEADER ENTRY("b", "null", "\"type\":\"session_info\",\"name\":\"" NINETY NINETY NINETY "\""),
	               NINETY NINETY NINE NINE "\u00e9\u2026\n");
}

static void first_message_is_not_trimmed(void **state)
{
	(void)state;
	assert_renders(render_first_message,
	               HEADER MESSAGE("c", "null",
	                              "\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\" a\\n\"},"
	                              "{\"type\":\"text\",\"text\":\"\\ud800b\\u0000\"}]"),
	               " a\n \uFFFDb\u2400");
	assert_renders(render_first_message, HEADER, "");
}

static void name_and_cwd(void **state)
{
	(void)state;
	assert_renders(render_name, HEADER, "");
	assert_renders(render_name, HEADER ENTRY("b", "null", "\"type\":\"session_info\",\"name\":\"a\\ud800b\""),
	               "a\uFFFDb\n");
	assert_renders(render_name,
	               HEADER ENTRY("b", "null", "\"type\":\"session_info\",\"name\":\"x\"")
	                   ENTRY("c", "\"b\"", "\"type\":\"session_info\",\"name\":\"\""),
	               "");
	assert_renders(render_cwd, HEADER, "/w\n");
	assert_renders(render_cwd, "{\"type\":\"session\",\"id\":\"x\"}\n", "");
	assert_renders(render_cwd, "{\"type\":\"session\",\"id\":\"x\",\"cwd\":7}\n", "");
}

static void problems_are_a_table(void **state)
{
	struct fixture f;
	struct buf out CLEANUP_BUF = BUF_INIT;
	static const char lines[] = HEADER "{oops\n" USER("a", "null", "x");
	char want[64];

	(void)state;
	fixture_open(&f, lines, sizeof lines - 1);
	assert_int_equal(render_problems(f.s, &out), 0);
	snprintf(want, sizeof want, "2\t%zu\t", sizeof HEADER - 1);
	assert_memory_equal(buf_cstr(&out), want, strlen(want));
	assert_int_equal(out.p[out.n - 1], '\n');
	fixture_close(&f);
	assert_renders(render_problems, HEADER USER("a", "null", "x"), "");
}

static void labels_are_a_table(void **state)
{
	(void)state;
	assert_renders(
	    render_labels_tsv,
	    HEADER USER("a", "null", "one\\ntwo") ENTRY("m", "\"a\"", "\"type\":\"model_change\",\"modelId\":\"x\"")
		MESSAGE("b", "\"m\"", "\"role\":\"bashExecution\",\"command\":\"ls\\t-l\",\"output\":\"\"")
		    ENTRY("c", "\"b\"", "\"type\":\"compaction\",\"summary\":\"sum\",\"tokensBefore\":1499")
			ENTRY("l", "\"c\"",
	                      "\"type\":\"label\",\"targetId\":\"a\",\"label\":\"t\\tn\\nz\\u0000b\\\\u\\ud800.\"")
			    ENTRY("k", "\"l\"", "\"type\":\"label\",\"targetId\":\"m\",\"label\":\"on\"")
				ENTRY("n", "\"k\"", "\"type\":\"message\""),
	    "# ID\tLABEL\tTEXT\tas of line 8\n"
	    "a\tt\\tn\\nz\\0b\\\\u\uFFFD.\tuser: one two\n"
	    "m\ton\tmodel_change: [model: x]\n"
	    "b\t\tbashExecution: ls -l\n"
	    "c\t\tcompaction: sum\n");
	assert_renders(render_labels_tsv,
	               HEADER MESSAGE("a", "null",
	                              "\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"one.go\"},"
	                              "{\"type\":\"image\"},{\"type\":\"text\",\"text\":\"Go\"}]")
	                   ENTRY("b", "\"a\"",
	                         "\"type\":\"custom_message\",\"content\":[{\"type\":\"text\",\"text\":\"x\"},"
	                         "{\"type\":\"text\",\"text\":\"y\"}]"),
	               "# ID\tLABEL\tTEXT\tas of line 3\n"
	               "a\t\tuser: one.go Go\n"
	               "b\t\tcustom_message: x y\n");
	assert_renders(render_labels_tsv, HEADER, "");
	assert_renders(render_labels_tsv, HEADER ENTRY("m", "null", "\"type\":\"custom\""), "");
}

static void summaries_are_cut(void **state)
{
	(void)state;
	assert_renders(
	    render_labels_tsv,
	    HEADER USER("a", "null", "0123456789012345678901234567890123456789012345678901234567\\ud83d\\ude00xyz"),
	    "# ID\tLABEL\tTEXT\tas of line 2\n"
	    "a\t\tuser: 0123456789012345678901234567890123456789012345678901234567\U0001F600\n");
	assert_renders(
	    render_labels_tsv,
	    HEADER USER("a", "null", "01234567890123456789012345678901234567890123456789012345678\\ud83d\\ude00xyz"),
	    "# ID\tLABEL\tTEXT\tas of line 2\n"
	    "a\t\tuser: 01234567890123456789012345678901234567890123456789012345678\n");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(title_is_the_name),
	    cmocka_unit_test(title_is_the_first_text),
	    cmocka_unit_test(else_it_is_the_first_answer),
	    cmocka_unit_test(a_title_is_one_line),
	    cmocka_unit_test(long_titles_are_cut),
	    cmocka_unit_test(first_message_is_not_trimmed),
	    cmocka_unit_test(name_and_cwd),
	    cmocka_unit_test(problems_are_a_table),
	    cmocka_unit_test(labels_are_a_table),
	    cmocka_unit_test(summaries_are_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
