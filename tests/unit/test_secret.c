/* SPDX-License-Identifier: MIT */
/* secret: texts that look like keys and texts that nearly do, and redacted reads of files, in pieces of any size. Each
 * example contains a blank, so that no scanner takes this file for a leak. */
#include "cases.h"

#include "sessionfs/file/secret.h"
#include "sessionfs/file/opened.h"
#include "sessionfs/session/session.h"

#include "files.h"
#include "later.h"

#include <unistd.h>

/* Text that another program writes over the file, in place, before the nth read from now on; -1: appended before each
 * read. */
static struct rewrite {
	const char *path, *text;
	int nth;
	bool cuts; /* the text is all that is left */
} rewrite;

static unsigned reads;

static ssize_t read_of_rewritten(int fd, void *p, size_t n, off_t off)
{
	reads++;
	if (rewrite.nth < 0)
		add_file(rewrite.path, rewrite.text);
	if (rewrite.nth > 0 && --rewrite.nth == 0)
		write_at(rewrite.path, rewrite.cuts ? O_TRUNC : 0, rewrite.text, strlen(rewrite.text));
	return pread(fd, p, n, off);
}

__typeof__(pread) *const sys_pread = read_of_rewritten;

struct example {
	const char *kind, *text;
};

static const struct example examples[] = {
    {"anthropic", "sk-ant- api03-example0example0example0"},
    {"openai", "sk- proj-example0example0example0"},
    {"github", "ghp_ example0example0example0example01234"},
    {"github", "github_pat_ example0example0example01234"},
    {"gitlab", "glpat- example0example01234"},
    {"gitlab", "glpat- example0example01234.01.example01"},
    {"aws", "AKIA EXAMPLE234567ABC"},
    {"google", "AIza example0example0example0example0123"},
    {"google", "ya29. example0example0example0"},
    {"google", "AQ. example0example0example0example0"},
    {"google", "GOCSPX- example0example0example01234"},
    {"slack", "xoxb- 000000000000-example0example"},
    {"slack", "xoxb- 0000000000"},
    {"slack", "xapp- 1-EXAMPLE0000-000000000000-example"},
    {"discord", "M TAwMDAwMDAwMDAwMDAwMDAw.Exampl.example0example0example0123"},
    {"telegram", "0000000000: AAexample0example0example0example01"},
    {"telegram", "bot 0000000000:AAexample0example0example0example01"},
    {"stripe", "sk_live_ example0example0"},
    {"stripe", "rk_test_ example0example0"},
    {"stripe", "whsec_ example0example0example0example0"},
    {"stripe", "whsec_ a+b/example0example0example0exam"},
    {"npm", "npm_ example0example0example0example01234"},
    {"pypi", "pypi- example0example0example0example0example0example0example0"},
    {"huggingface", "hf_ example0example0example0example0"},
    {"groq", "gsk_ example0example0example0example0example0"},
    {"xai", "xai- example0example0example0example0example0"},
    {"perplexity", "pplx- example0example0example0example0"},
    {"nvidia", "nvapi- example0example0example0example0example0"},
    {"tavily", "tvly- dev-example0example0example0"},
    {"brave", "BSA example0example0example0123"},
    {"elevenlabs", "sk_ 000000000000000000000000000000000000000000000000"},
    {"replicate", "r8_ example0example0example0example012345"},
    {"sendgrid", "SG. example0example0.example0example0example0example0"},
    {"digitalocean", "dop_v1_ 0000000000000000000000000000000000000000000000000000000000000000"},
    {"shopify", "shpat_ 00000000000000000000000000000000"},
    {"notion", "ntn_ example0example0example0example0example0"},
    {"linear", "lin_api_ example0example0example0example0"},
    {"vault", "hvs. example0example0example0"},
    {"age", "AGE-SECRET-KEY- 1EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EX"},
    {"jwt", "eyJ example0example0.eyJexample0example0.example0example0"},
    {"jwt", "eyJ 0123456789.eyJ0123456789.0123456789"},
    {"bearer", "Bearer  example0example0example0"},
    {"bearer", "bearer  a.b~c+d/e=f-g_h.i~j+k/1"},
    {"basic", "Basic  example0example0example0"},
    {"basic", "basic  a+b/c=d/example0exam"},
    {"named", "APP_SECRET= example0example01"},
    {"named", "OLLAMA_API_KEY= example0example01.example0.e-x_mple0"},
    {"named", "TOKEN= example0example0example"},
    {"named", "\"Secret\":\" example0example0example.example0"},
    {"named", "-- token example0example01"},
    {"named", "--service-access-a--key=\" example.example/01"},
    {"named", "password: //example0.example"},
    {"named", "export  CLIENT-TOKEN='example0example01'"},
    {"named", "-- encryptionkey = a+b/example0ex=="},
    {"named", "my0_other_app_password:\\\"\\\" example0example01"},
    {"named", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_Encryption-Secret: example0example01"},
    {"named", "\\\\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_Encryption-Secret: example0example01"},
    {"named", "\"db_password\":\"example0 example1"},
    {"named", "PassWd=example0 .@:/!#%&"},
    {"url", "://user: example@example.com"},
    {"url", ":// :abc@[::1]"},
    {"private key", "-----BEGIN  PRIVATE KEY-----\\nexample0example0example0\\n"},
    {"private key", "-----BEGIN  RSA 2 PRIVATE KEY BLOCK-----\\\\r\\\\nexample0----example0example0"},
};

static const char *const none[] = {
    "task- number01number02number03number04",
    "00000000-0000-4000- 8000-000000000000",
    "sk- learn-is-a-library-without-a-number",
    "https://example.com:8080/a @b",
    "git@example.com:org/a .git",
    "sha512- x/BSAnumber01number02number03456+x==",
    "Bearer  $TOKEN_FROM_THE_ENVIRONMENT",
    "-----BEGIN  PRIVATE KEY-----",
    "-----BEGIN  PRIVATE KEY-----\\nexample0exampl\\n",
    "-----BEGIN  PUBLIC KEY-----\\nexample0example0example0\\n",
    "-----BEGIN  RSA  PRIVATE KEY-----\\nexample0example0example0\\n",
    "------BEGIN  PRIVATE KEY-----\\nexample0example0example0\\n",
    "npm_ example0example0example0example0123",
    "npm_ example0example0example0example012345",
    "-ghp_ example0example0example0example01234",
    "\\npm_ example0example0example0example01234",
    "\\\\\\tvly- example0example0example0example0",
    "AKIA EXAMPLE234567AB1",
    "https://user: ab@example.com",
    "https://user: example@-example.com",
    "12345678901: AAexample0example0example0example01",
    "xoxb- 000000000",
    "token= example0example01",
    "token= example0example0exa",
    "my_token= example0example0example0",
    "tokens= example0example0example0",
    "-- token exampleexampleexample",
    "-- Token example0example01",
    "x-- token example0example01",
    "-- token example0exampl",
    "--abcdefghijklmnopqrst- token example0example01",
    "Basic  understanding-of-things-is-enough",
    "Basic  example0example0exa",
    "AQ. exampleexampleexampleexampleexample",
    "AQ. example0example0example0exa",
    "author= example0example01",
    "api_key= example0example",
    "api_key= exampleexampleexample",
    "api__key= example0example01",
    "api_key  =  example0example01",
    "api_key=\"\"\"\"\" example0example01",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_api_key= example0example01",
    "\\api_key= example0example01",
    "\\xapi_key= example0example01",
    "passwort: example0example1",
    "password: example0exa",
    "password: exampleexampleexample",
    "eyJ 012345678.eyJ0123456789.0123456789",
    "example",
    "",
};

/* Returns the text without its first blank, between `before` and `after`. */
static struct span put(const char *before, const char *text, const char *after, struct buf *out)
{
	const char *blank = strchr(text, ' ');
	buf_reset(out);
	buf_adds(out, before);
	buf_add(out, text, blank ? (size_t)(blank - text) : 0);
	buf_addf(out, "%s%s", blank ? blank + 1 : text, after);
	assert_int_equal(buf_err(out), 0);
	return buf_span(out);
}

/* Returns the only key of the text. */
static struct secret only_secret(struct span text)
{
	CLEANUP(secrets_release) struct secrets found = {0};
	assert_int_equal(secrets_find(text, &found), 0);
	if (found.n != 1)
		fail_msg("%zu places in %.*s", found.n, (int)text.n, text.p);
	return found.v[0];
}

static void assert_place(struct span text, const char *kind)
{
	const struct secret s = only_secret(text);
	assert_string_equal(secret_kind(&s), kind);
}

CASE(every_secret_form_is_found)
{
	static const char *const around[][2] = {
	    {"", ""},     {"{\"a\":\"", "\"}"}, {"\\n", "\\n"},
	    {"x=", "&y"}, {"line\n", "\nline"}, {"word word word word word word (", ")"}};
	CLEANUP_BUF struct buf text = BUF_INIT;
	char blanks[130] = "";
	for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
		for (size_t k = 0; k < sizeof around / sizeof *around; k++)
			assert_place(put(around[k][0], examples[i].text, around[k][1], &text), examples[i].kind);
		for (const char *e = "rtbf"; *e; e++) {
			const char escape[] = {'\\', *e, '\0'};
			assert_place(put(escape, examples[i].text, escape, &text), examples[i].kind);
		}
		/* At any offset within the blocks that are scanned. */
		for (size_t n = 0; n < sizeof blanks; n++) {
			memset(blanks, ' ', n);
			blanks[n] = '\0';
			assert_place(put(blanks, examples[i].text, n % 2 ? "" : blanks, &text), examples[i].kind);
			blanks[n] = ' ';
		}
	}
}

CASE(every_alternative_of_a_form_is_found)
{
	static const struct {
		const char *kind, *starts, *rest;
	} of[] = {
	    {"github", "ghp_ gho_ ghu_ ghs_ ghr_", "example0example0example0example01234"},
	    {"gitlab", "glpat- gldt- glrt- glcbt- glptt- glsoat- gloas-", "example0example01234"},
	    {"aws", "AKIA ASIA", "EXAMPLE234567ABC"},
	    {"slack", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs-", "0000000000"},
	    {"discord", "M N O", "TAwMDAwMDAwMDAwMDAwMDAw.Exampl.example0example0example0123"},
	    {"stripe", "sk_live_ sk_test_ rk_live_ rk_test_", "example0example0"},
	    {"digitalocean", "doo_v1_ dop_v1_ dor_v1_",
	     "0000000000000000000000000000000000000000000000000000000000000000"},
	    {"shopify", "shpat_ shpca_ shppa_ shpss_", "0000000000000000000000000000000A"},
	    {"linear", "lin_api_ lin_oauth_", "example0example0example0example0"},
	    {"vault", "hvs. hvb. hvr.", "example0example0example0"},
	    {"named", "app client api access auth bot secret private signing encryption", "_secret=example0example01"},
	    {"named", "app_key= appTOKEN= app-Secret=", "example0example01"},
	    {"named", "PASSWORD= passwd=", "example0exam"},
	    {"named", "--token= --key= --secret= --password=", "example0example01"},
	};
	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		char starts[80], key[160];
		strcpy(starts, of[i].starts);
		for (char *start = strtok(starts, " "); start; start = strtok(NULL, " ")) {
			snprintf(key, sizeof key, "%s%s", start, of[i].rest);
			assert_place(span_of(key), of[i].kind);
		}
	}
}

CASE(near_misses_are_not_found)
{
	CLEANUP_BUF struct buf text = BUF_INIT;
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		CLEANUP(secrets_release) struct secrets found = {0};
		assert_int_equal(secrets_find(put("", none[i], "", &text), &found), 0);
		assert_int_equal(found.n, 0);
	}
}

CASE(first_and_longest_match_wins)
{
	static const struct example text[] = {
	    {"jwt", "Bearer  eyJexample0example0.eyJexample0example0.example0example0 "},
	    {"bearer", "Bearer  eyJexample0example0.eyJexample0example0.example0example0== "},
	    {"openai", "api_key=sk- proj-example0example0example0"},
	    {"named", "api_key=sk- proj-example0example0example0="},
	    {"named", "api_key= secret_key=example0example01"},
	    {"named", "api_key= example0_secret_key: example0example0example0"},
	    {"url", "://:sk- proj-example0example0example0x.y@host"},
	    {"anthropic", "://sk-ant- api03-example0example0example0:x@y"},
	    {"private key", "-----BEGIN  PRIVATE KEY-----\\nexample0example0 ghp_example0example0example0example01234"},
	};
	CLEANUP_BUF struct buf b = BUF_INIT;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++)
		assert_place(put("", text[i].text, "", &b), text[i].kind);
}

struct sized {
	const char *text;
	size_t n;
};

CASE(the_whole_key_is_found)
{
	static const struct sized cases[] = {{"api_key= example0example01.example0.example\" ", 26},
	                                     {"api_key= example0example01.example.example0\" ", 17},
	                                     {"token= example0example0example0.e-x_mple\" ", 33},
	                                     {"--token  a.b/example0example01 ", 21},
	                                     {"Basic  example0example0example0==\" ", 26}};
	CLEANUP_BUF struct buf b = BUF_INIT;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(only_secret(put("", cases[i].text, "", &b)).n, cases[i].n);
}

CASE(as_much_of_a_key_is_shown_as_is_known)
{
	static const struct sized cases[] = {{"AQ. example0example0example0example0", 3},
	                                     {"AIza example0example0example0example0123", 4},
	                                     {"TOKEN= example0example0example", 0},
	                                     {"Basic  example0example0example0", 0}};
	CLEANUP_BUF struct buf b = BUF_INIT;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct secret s = only_secret(put("", cases[i].text, "", &b));
		assert_int_equal(secret_prefix_size(&s), cases[i].n);
	}
}

/* Each of these keys contains all that follow it, and none has a digit. */
CASE(keys_in_keys_take_linear_time)
{
	static const char *const texts[] = {"api_key=", "password:", "token=", "--key=", "token=.abcdefgh"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		CLEANUP(secrets_release) struct secrets found = {0};
		CLEANUP_BUF struct buf text = BUF_INIT;
		while (text.n < 2 << 20)
			buf_adds(&text, texts[i]);
		assert_int_equal(secrets_find(buf_span(&text), &found), 0);
		assert_int_equal(found.n, 0);
	}
}

/* --- reading ---------------------------------------------------------------------- */

/* A file of a source whose keys are hidden. */
struct hidden {
	char dir[64], path[80];
	struct resolver *r;
	struct opened *file; /* NULL until hidden_open */
	int64_t changed_s;   /* when it was opened */
};

/* With this text. */
static void hidden_make(struct hidden *h, const char *text)
{
	*h = (struct hidden){.dir = "/tmp/sessionfs-secret-XXXXXX"};
	make_temporary(h->dir);
	snprintf(h->path, sizeof h->path, "%s/f", h->dir);
	put_file(h->path, text);
	assert_int_equal(resolver_open(h->dir, &h->r), 0);
	resolver_set_redact(h->r);
}

/* Opens it again. */
static void hidden_open(struct hidden *h)
{
	struct resolved got = RESOLVED_INIT;
	opened_put(h->file);
	assert_int_equal(resolve_file(&(struct source_path){h->r, "f"}, RESOLVER_WAIT, O_RDONLY, &got), 0);
	h->changed_s = got.st.st_ctim.tv_sec;
	assert_int_equal(opened_new(h->r, &got, &h->file), 0);
}

static void hidden_release(struct hidden *h)
{
	opened_put(h->file);
	resolver_close(h->r);
	remove_all(h->dir);
}

#define CLEANUP_HIDDEN CLEANUP(hidden_release)

/* Asserts the redacted contents of a file with this text. */
static void assert_read(const char *text, const char *expected)
{
	CLEANUP_HIDDEN struct hidden h;
	char piece[16384];
	size_t n = strlen(text);

	hidden_make(&h, text);
	/* In pieces, forward and backward, at last with the masks of the lines that were read before. Then all at once.
	 */
	for (int way = 0; way < 4; way++) {
		hidden_open(&h);
		if (way == 2)
			let_pass(CLOCK_REALTIME, 5000);
		for (size_t step = n > 2000 ? 997 : 1; step <= n; step = step * 2 + 1) {
			for (size_t i = 0; i * step < n; i++) {
				size_t at = way % 2 ? i * step : (n - 1) / step * step - i * step;
				ssize_t size = opened_pread(h.file, piece, step, at);
				assert_int_equal(size, n - at < step ? n - at : step);
				assert_memory_equal(piece, expected + at, (size_t)size);
			}
		}
		assert_int_equal(opened_pread(h.file, piece, sizeof piece, 0), n);
		piece[n] = '\0';
		assert_string_equal(piece, expected);
		assert_int_equal(opened_pread_raw(h.file, piece, sizeof piece, 0), n);
		assert_memory_equal(piece, text, n);
	}
}

#define KEY                                                                                                            \
	"hf_"                                                                                                          \
	"example0example0example0example0"
#define STARS                                                                                                          \
	"***"                                                                                                          \
	"********************************"

CASE(redacted_read_hides_keys)
{
	assert_read("a\n", "a\n");
	assert_read("{" KEY "}\nx " KEY "\n\n\r\n" KEY "\r\n{} ", "{" STARS "}\nx " STARS "\n\n\r\n" STARS "\r\n{} ");
	assert_read("{\"-----BEGIN "
	            "PRIVATE KEY-----\\nexample0example0\\\\r\\\\nabc\\n-----END\"}\n",
	            "{\"-----BEGIN "
	            "PRIVATE KEY-----\\n****************\\\\r\\\\n***\\n-----END\"}\n");
	assert_read("https://u:"
	            "password@host\n",
	            "https://u:********@host\n");
}

/* Lines of each length, several times what is read at once: reads begin and end in keys, before and beyond the lines
 * whose masks are kept. */
CASE(each_of_many_lines_is_hidden)
{
	CLEANUP_BUF struct buf text = BUF_INIT, expected = BUF_INIT;
	for (int i = 0; i < 150; i++) {
		buf_addf(&text, "{\"%0*d " KEY "\"}\n", i % 40 + 1, i);
		buf_addf(&expected, "{\"%0*d " STARS "\"}\n", i % 40 + 1, i);
	}
	assert_read(buf_cstr(&text), buf_cstr(&expected));
}

CASE(unfinished_last_line_is_hidden)
{
	assert_read("{}\n{\"a\":\"hf_exam", "{}\n*************");
	assert_read("{\"a\":\"hf_exam", "*************");
	assert_read("{}\n{\"a\":1} \t\r", "{}\n{\"a\":1} \t\r");
	assert_read("{}\n{\"" KEY "\":1}", "{}\n{\"" STARS "\":1}");
	assert_read("{}\n ", "{}\n*");
	assert_read(" \t\r", "***");
}

CASE(overlong_line_is_hidden)
{
	char text[16384], expected[16384];
	for (size_t more = 0; more < 2 && SECRET_LINE + 200 < sizeof text; more++) {
		size_t n = SECRET_LINE + more;
		memset(text, 'x', sizeof text);
		memcpy(text, "{}\n", 3);
		memcpy(text + 3 + n, "\n" KEY "\n", strlen(KEY) + 3);
		memcpy(text + 3 + 100, " " KEY " ", strlen(KEY) + 2);
		memcpy(expected, text, sizeof text);
		memset(expected + 3 + n + 1, '*', strlen(KEY));
		if (more)
			memset(expected + 3, '*', n);
		else
			memset(expected + 3 + 101, '*', strlen(KEY));
		assert_read(text, expected);
	}
}

/* The first bytes of the file, the last ones of the line that is too long, and the line after it. The line is a hole.
 */
CASE(line_beyond_the_limit_is_hidden)
{
	const size_t begin = 3, n = SECRET_LINE + 300, end = begin + n;
	CLEANUP_HIDDEN struct hidden h;
	char piece[64];
	hidden_make(&h, "{}\n");
	assert_int_equal(truncate(h.path, (off_t)end), 0);
	add_file(h.path, "\nx " KEY "\n");
	hidden_open(&h);
	for (size_t off = end - 20; off <= end; off += 10) {
		CLEANUP_BUF struct buf expected = BUF_INIT;
		for (size_t i = off; i < end; i++)
			buf_addc(&expected, '*');
		buf_adds(&expected, "\nx " STARS "\n");
		memset(piece, 0, sizeof piece);
		assert_int_equal(opened_pread(h.file, piece, sizeof piece - 1, off), expected.n);
		assert_string_equal(piece, buf_cstr(&expected));
	}
	/* The first line is shown, the second is hidden from its first byte. */
	memset(piece, 0, sizeof piece);
	assert_int_equal(opened_pread(h.file, piece, 8, 0), 8);
	assert_string_equal(piece, "{}\n*****");
	assert_int_equal(opened_pread(h.file, piece, 8, end + strlen("\nx " KEY "\n")), 0);
	assert_int_equal(opened_pread(h.file, piece, 8, 2 * end), 0);
}

CASE(grown_line_is_scanned_again)
{
	CLEANUP_HIDDEN struct hidden h;
	char piece[200] = "";
	hidden_make(&h, "{}\n{\"" KEY);
	hidden_open(&h);
	assert_int_equal(opened_pread(h.file, piece, sizeof piece, 5), strlen(KEY));
	assert_memory_equal(piece, STARS, strlen(KEY));
	add_file(h.path, "-y " KEY "\"}\n");
	memset(piece, 0, sizeof piece);
	opened_pread(h.file, piece, sizeof piece, 5);
	assert_string_equal(piece, KEY "-y " STARS "\"}\n");
	put_file(h.path, "{}\n{\"  " KEY " \"}\n");
	memset(piece, 0, sizeof piece);
	opened_pread(h.file, piece, 10, 8);
	assert_string_equal(piece, "**********");
}

#define X35 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

/* The file is rewritten before each read of a line that is read in pieces, last bytes first or last, with its secrets
 * cached or not. The key is in the line before or after. */
CASE(a_file_that_is_rewritten_in_place_shows_no_key)
{
	static const char *const texts[][2] = {
	    {"{\"" X35 " " KEY "\"}\n", "{\"" KEY " " X35 "\"}\n"},
	    {"{\"" X35 " " X35 "\"}\n", "{\"" KEY " " KEY "\"}\n"},
	    {"{\"" KEY " " KEY "\"}\n", "{\"" X35 " " X35 "\"}\n"},
	};
	CLEANUP_HIDDEN struct hidden h;
	char piece[200];
	hidden_make(&h, "");
	for (int i = 0; i < 3 * 2 * 20 * 4; i++) {
		const char *const *text = texts[i % 3];
		bool is_remembered = i / 3 % 2;
		size_t n = (size_t)(i / 6 % 20) * 4 + 1, off = n / 2;
		put_file(h.path, text[0]);
		hidden_open(&h);
		if (is_remembered) {
			let_pass(CLOCK_REALTIME, 5000);
			opened_pread(h.file, piece, sizeof piece, 0);
			opened_pread(h.file, piece, sizeof piece, 0);
			usleep(11000); /* a tick of the clock for file times */
		}
		rewrite = (struct rewrite){h.path, text[1], i / 120 + 1, false};
		assert_in_range(opened_pread(h.file, piece, n, off), 1, n);
		for (size_t k = 0; k + 3 <= n; k++)
			assert_false(memcmp(piece + k, "exa", 3) == 0 || memcmp(piece + k, "mpl", 3) == 0);
		rewrite.nth = 0;
	}
}

/* A file that is cut between two reads of its lines: the read returns the rest of it, or an error, and ends. */
CASE(a_file_that_is_cut_while_it_is_read_ends)
{
	CLEANUP_HIDDEN struct hidden h;
	char piece[200];
	hidden_make(&h, "");
	for (int i = 0; i < 4 * 3; i++) {
		static const char *const rests[] = {"", "{}", "{}\n"};
		put_file(h.path, "{}\n{\"" KEY "\"}\n{\"" KEY "\"}\n");
		hidden_open(&h);
		rewrite = (struct rewrite){h.path, rests[i % 3], i / 3 + 1, true};
		ssize_t n = opened_pread(h.file, piece, sizeof piece, 3);
		assert_true(n <= (ssize_t)sizeof piece);
		for (ssize_t k = 0; k + 3 <= n; k++)
			assert_memory_not_equal(piece + k, "exa", 3);
		rewrite.nth = 0;
	}
}

/* Continuous appends do not keep earlier lines from being read. */
CASE(a_file_that_grows_is_read)
{
	CLEANUP_HIDDEN struct hidden h;
	char piece[200];
	hidden_make(&h, "{\"" KEY "\"}\n");
	hidden_open(&h);
	for (int i = 0; i < 20; i++) {
		rewrite = (struct rewrite){h.path, "{}\n", -1, false};
		assert_int_equal(opened_pread(h.file, piece, strlen(KEY) + 5, 0), strlen(KEY) + 5);
		assert_memory_equal(piece, "{\"" STARS "\"}\n", strlen(KEY) + 5);
	}
	rewrite.nth = 0;
}

static unsigned reads_of_line(struct opened *file)
{
	char piece[8];
	reads = 0;
	assert_int_equal(opened_pread(file, piece, 5, 3000), 5);
	return reads;
}

/* Masks are kept only once a later change would have another time: times can have whole seconds. Any number is kept. */
CASE(masks_of_settled_files_are_kept)
{
	enum { KEYS = LIMIT(5000, 100) };
	CLEANUP_HIDDEN struct hidden h;
	CLEANUP_BUF struct buf text = BUF_INIT;
	buf_adds(&text, "{}\n{\"");
	for (int i = 0; i < KEYS; i++)
		buf_adds(&text, KEY " ");
	buf_adds(&text, "\":1}\n");
	hidden_make(&h, buf_cstr(&text));
	hidden_open(&h);
	int64_t ahead = atomic_exchange(&ahead_ms[CLOCK_REALTIME], 0);
	atomic_store(&stands_ns[CLOCK_REALTIME], (h.changed_s + 1) * 1000000000 + 999999999);
	unsigned first = reads_of_line(h.file);
	assert_in_range(first, 1, 100);
	assert_int_equal(reads_of_line(h.file), first);
	assert_int_equal(opened_memory(h.file), 0);
	atomic_store(&stands_ns[CLOCK_REALTIME], (h.changed_s + 2) * 1000000000);
	assert_true(reads_of_line(h.file) <= first);
	assert_true(reads_of_line(h.file) < first);
	assert_true(opened_memory(h.file) >= KEYS * 2 * sizeof(uint64_t));
	atomic_store(&stands_ns[CLOCK_REALTIME], 0);
	atomic_store(&ahead_ms[CLOCK_REALTIME], ahead);
}

CASE(growing_hidden_line_keeps_session)
{
	CLEANUP_HIDDEN struct hidden h;
	struct session *s;
	struct reader reader CLEANUP_READER = READER_INIT;
	struct secrets found CLEANUP(secrets_release) = {0};
	hidden_make(&h, "{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"x\",\"id\":\"a\",\"y\":\"hf_example0");
	assert_int_equal(session_open(&(struct source_path){h.r, "f"}, false, &s), 0);
	add_file(h.path, "example0example0example0\"}\n");
	assert_int_equal(session_grow(s), 1);
	assert_int_equal(session_count(s), 1);
	assert_int_equal(session_find_secrets(s, 0, &reader, &found), 0);
	assert_int_equal(found.n, 1);
	session_close(s);
}

RUN_CASES(NULL, NULL)
