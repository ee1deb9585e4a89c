/* SPDX-License-Identifier: MIT */
/* Each test runs in its own directory with its own home. */
#include "cases.h"

#include "sessionfs/cmd/source.h"

#include "files.h"

struct source_fixture {
	char root[64], home[80];
	int before;
};
#define FIXTURE struct source_fixture *p

static int set_up(void **state)
{
	struct source_fixture *p = calloc(1, sizeof *p);
	assert_non_null(p);
	strcpy(p->root, "/tmp/test_source.XXXXXX");
	make_temporary(p->root);
	snprintf(p->home, sizeof p->home, "%s/home", p->root);
	p->before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(chdir(p->root), 0);
	assert_int_equal(mkdir(".pi", 0755) | mkdir("home", 0755) | mkdir("home/.pi", 0755) |
	                     mkdir("home/.pi/agent", 0755) | mkdir("agent", 0755),
	                 0);
	setenv("HOME", p->home, 1);
	unsetenv("PI_CODING_AGENT_DIR");
	unsetenv("PI_CODING_AGENT_SESSION_DIR");
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct source_fixture *p = *state;
	assert_int_equal(fchdir(p->before), 0);
	close(p->before);
	remove_all(p->root);
	free(p);
	return 0;
}

#define PROJECT ".pi/settings.json"
#define AGENT "home/.pi/agent/settings.json"

/* `expected` can begin with ~ for the home. */
static void assert_source(struct source_fixture *p, const char *expected)
{
	struct buf got CLEANUP_BUF = BUF_INIT;
	char text[256];
	const char *why = "none given";
	int rc = source_default(&got, &why);
	if (rc < 0)
		fail_msg("%s", why);
	assert_non_null(buf_cstr(&got));
	snprintf(text, sizeof text, "%s%s", *expected == '~' ? p->home : "", expected + (*expected == '~'));
	assert_string_equal(got.p, text);
}

static void assert_refused(const char *expected)
{
	struct buf got CLEANUP_BUF = BUF_INIT;
	const char *why = NULL;
	buf_adds(&got, "kept");
	assert_int_equal(source_default(&got, &why), -EINVAL);
	assert_string_equal(why, expected);
	assert_true(span_is(buf_span(&got), "kept"));
}

FIXTURE_CASE(source_precedence_matches_pi)
{
	assert_source(p, "~/.pi/agent/sessions");
	setenv("PI_CODING_AGENT_DIR", "", 1);
	assert_source(p, "~/.pi/agent/sessions");
	setenv("PI_CODING_AGENT_DIR", "~/tilde", 1);
	assert_source(p, "~/tilde/sessions");
	setenv("PI_CODING_AGENT_DIR", "agent", 1);
	assert_source(p, "agent/sessions");
	put_file("agent/settings.json", "{\"sessionDir\":\"/agents\"}");
	assert_source(p, "/agents");
	unsetenv("PI_CODING_AGENT_DIR");
	assert_source(p, "~/.pi/agent/sessions");
	put_file(AGENT, "\xef\xbb\xbf{\"theme\":\"dark\",\"sessionDir\":\"relative/dir\"}\n");
	assert_source(p, "relative/dir");
	put_file(PROJECT, "{\"sessionDir\":\"/projects\"}");
	assert_source(p, "/projects");
	setenv("PI_CODING_AGENT_SESSION_DIR", "", 1);
	assert_source(p, "/projects");
	setenv("PI_CODING_AGENT_SESSION_DIR", "/environment", 1);
	assert_source(p, "/environment");
}

FIXTURE_CASE(empty_project_setting_is_used)
{
	put_file(AGENT, "{\"sessionDir\":\"/agents\"}");
	put_file(PROJECT, "{\"sessionDir\":\"\"}");
	assert_source(p, "~/.pi/agent/sessions");
	put_file(PROJECT, "{\"sessionDir\":null}");
	assert_source(p, "~/.pi/agent/sessions");
	put_file(PROJECT, "{}");
	assert_source(p, "/agents");
	put_file(PROJECT, "");
	assert_source(p, "/agents");
}

FIXTURE_CASE(tilde_and_file_urls_are_expanded)
{
	const char *cases[][2] = {
	    {"~", "~"},
	    {"~/a b", "~/a b"},
	    {"/plain/~", "/plain/~"},
	    {"file:///a%20b/c", "/a b/c"},
	    {"file://localhost/x%", "/x%"},
	    {"file:///x?query", "/x"},
	    {"$HOME/x", "$HOME/x"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		setenv("PI_CODING_AGENT_SESSION_DIR", cases[i][0], 1);
		assert_source(p, cases[i][1]);
	}
	unsetenv("PI_CODING_AGENT_SESSION_DIR");
	put_file(PROJECT, "{\"sessionDir\":\"~\\u002fsess\\u00efons\"}");
	assert_source(p, "~/sess\xc3\xafons");
	setenv("PI_CODING_AGENT_SESSION_DIR", "~other", 1);
	struct buf got CLEANUP_BUF = BUF_INIT;
	const char *why;
	assert_int_equal(source_default(&got, &why), 0);
	assert_true(span_is(buf_span(&got), "~other"));
}

FIXTURE_CASE(unreadable_settings_are_rejected)
{
	static const char *const rows[][2] = {
	    {"{\"sessionDir\":", "pi's settings.json is not a JSON object"},
	    {"[]", "pi's settings.json is not a JSON object"},
	    {"{\"sessionDir\":7}", "sessionDir in pi's settings.json is not a string"},
	    {"{\"sessionDir\":\"a\\u0000b\"}", "a session directory contains a NUL"},
	    {"{\"sessionDir\":\"file://elsewhere/x\"}", "a file:// address names another host"},
	    {"{\"sessionDir\":\"file:///a%2Fb\"}", "a file:// address contains an encoded slash or NUL"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		put_file(PROJECT, rows[i][0]);
		assert_refused(rows[i][1]);
	}
	assert_int_equal(unlink(PROJECT), 0);
	assert_int_equal(mkfifo(PROJECT, 0644), 0);
	assert_refused("pi's settings.json cannot be read");
}

FIXTURE_CASE(home_falls_back_to_passwd)
{
	struct buf got CLEANUP_BUF = BUF_INIT;
	const char *why = NULL;
	unsetenv("HOME");
	if (source_default(&got, &why) == 0) {
		assert_non_null(buf_cstr(&got));
		assert_non_null(strstr(got.p, "/.pi/agent/sessions"));
	} else {
		assert_string_equal(why, "no home directory: HOME is not set");
	}
}

RUN_CASES(NULL, NULL)
