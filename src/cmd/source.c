/* SPDX-License-Identifier: MIT */
/* pi looks in four places for its directory of sessions; the first that names one wins. The project's settings override
 * the agent's, so a `sessionDir` there decides even if it is empty. */
#include "sessionfs/cmd/source.h"

#include "sessionfs/json/json.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>

#define SETTINGS_BYTES ((off_t)16 << 20)

static const char *getenv_nonempty(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

/* Appends the home directory. */
static int source_add_home(struct buf *out, const char **ret_why)
{
	const char *home = getenv_nonempty("HOME");
	if (home) {
		buf_adds(out, home);
		return 0;
	}
	char text[4096];
	struct passwd pw, *found = NULL;
	if (getpwuid_r(getuid(), &pw, text, sizeof text, &found) == 0 && found && pw.pw_dir[0]) {
		buf_adds(out, pw.pw_dir);
		return 0;
	}
	*ret_why = "no home directory: HOME is not set";
	return -EINVAL;
}

static int hex_digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Appends the path in a URL; `rest` is the text after "file://". */
static int source_add_url(struct span rest, struct buf *out, const char **ret_why)
{
	static const char local[] = "localhost/";

	if (span_begins(rest, SPAN_LIT(local))) {
		rest.p += sizeof local - 2;
		rest.n -= sizeof local - 2;
	}
	if (rest.n == 0 || rest.p[0] != '/') {
		*ret_why = "a file:// address names another host";
		return -EINVAL;
	}
	for (size_t i = 0; i < rest.n && rest.p[i] != '?' && rest.p[i] != '#'; i++) {
		int high = -1, low = -1;
		if (rest.p[i] == '%' && rest.n - i > 2) {
			high = hex_digit_value(rest.p[i + 1]);
			low = hex_digit_value(rest.p[i + 2]);
		}
		if (high < 0 || low < 0) {
			buf_addc(out, rest.p[i]);
			continue;
		}
		char c = (char)(high << 4 | low);
		if (c == '/' || c == '\0') {
			*ret_why = "a file:// address contains an encoded slash or NUL";
			return -EINVAL;
		}
		buf_addc(out, c);
		i += 2;
	}
	return 0;
}

/* Appends a directory as the user wrote it; expands `~`, `~/...` and file://. */
static int source_add_dir(struct span text, struct buf *out, const char **ret_why)
{
	if (memchr(text.p, '\0', text.n)) {
		*ret_why = "a session directory contains a NUL";
		return -EINVAL;
	}
	if (text.p[0] == '~' && (text.n == 1 || text.p[1] == '/')) {
		int rc = source_add_home(out, ret_why);
		if (rc == 0)
			buf_add(out, text.p + 1, text.n - 1);
		return rc;
	}
	if (text.n >= 7 && memcmp(text.p, "file://", 7) == 0)
		return source_add_url((struct span){text.p + 7, text.n - 7}, out, ret_why);
	buf_addspan(out, text);
	return 0;
}

/* Reads a settings file. Returns 1, 0 without such a file, or a negative errno. */
static int source_read_settings(const char *path, struct buf *out)
{
	int fd CLEANUP_CLOSE = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > SETTINGS_BYTES)
		return -EINVAL;
	for (;;) {
		char *to = buf_reserve(out, 4096);
		if (!to)
			return -ENOMEM;
		ssize_t got = read(fd, to, 4096);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return 1;
		out->n += (size_t)got;
	}
}

/* Appends the file's sessionDir. Returns 1 if it has one (an empty or false one appends nothing), 0 if not, or a
 * negative errno. */
static int source_add_setting(const char *path, struct buf *out, const char **ret_why)
{
	struct buf text CLEANUP_BUF = BUF_INIT, deep CLEANUP_BUF = BUF_INIT, dir CLEANUP_BUF = BUF_INIT;

	int rc = source_read_settings(path, &text);
	if (rc < 0) {
		*ret_why = "pi's settings.json cannot be read";
		return rc == -ENOMEM ? rc : -EINVAL;
	}
	struct span json = buf_span(&text);
	if (json.n >= 3 && memcmp(json.p, "\xef\xbb\xbf", 3) == 0) {
		json.p += 3;
		json.n -= 3;
	}
	if (json.n == 0)
		return 0;

	struct json j;
	struct json_value settings;
	json_init(&j, json, &deep);
	if (!json_value(&j, &settings) || !json_at_end(&j) || settings.kind != JSON_OBJECT) {
		*ret_why = "pi's settings.json is not a JSON object";
		return -EINVAL;
	}
	struct json_value value = json_get(settings, "sessionDir");
	if (value.kind == JSON_NONE)
		return 0;
	if (!json_is_truthy(value))
		return 1;
	if (value.kind != JSON_STRING) {
		*ret_why = "sessionDir in pi's settings.json is not a string";
		return -EINVAL;
	}
	json_decode(value.text, JSON_EXACT, &dir);
	rc = buf_err(&dir) ? -ENOMEM : source_add_dir(buf_span(&dir), out, ret_why);
	return rc < 0 ? rc : 1;
}

static int source_add_agent_dir(struct buf *out, const char **ret_why)
{
	const char *dir = getenv_nonempty("PI_CODING_AGENT_DIR");
	if (dir)
		return source_add_dir(span_of(dir), out, ret_why);
	int rc = source_add_home(out, ret_why);
	buf_adds(out, "/.pi/agent");
	return rc;
}

static int source_find_default(struct buf *out, const char **ret_why)
{
	const char *dir = getenv_nonempty("PI_CODING_AGENT_SESSION_DIR");
	if (dir)
		return source_add_dir(span_of(dir), out, ret_why);

	struct buf agent CLEANUP_BUF = BUF_INIT, settings CLEANUP_BUF = BUF_INIT;
	size_t before = out->n;
	int rc = source_add_setting(".pi/settings.json", out, ret_why);
	if (rc < 0 || out->n > before)
		return rc;
	int agent_rc = source_add_agent_dir(&agent, ret_why);
	if (agent_rc < 0)
		return agent_rc;
	if (rc == 0) {
		buf_addspan(&settings, buf_span(&agent));
		buf_adds(&settings, "/settings.json");
		const char *path = buf_cstr(&settings);
		rc = path ? source_add_setting(path, out, ret_why) : -ENOMEM;
		if (rc < 0 || out->n > before)
			return rc;
	}
	buf_addspan(out, buf_span(&agent));
	buf_adds(out, "/sessions");
	return buf_err(&agent);
}

int source_default(struct buf *out, const char **ret_why)
{
	struct buf dir CLEANUP_BUF = BUF_INIT;
	const char *why = "out of memory";

	int rc = source_find_default(&dir, &why);
	if (rc >= 0)
		rc = buf_err(&dir);
	if (rc < 0) {
		*ret_why = why;
		return rc;
	}
	buf_addspan(out, buf_span(&dir));
	return buf_err(out);
}
