/* SPDX-License-Identifier: MIT */
/* Languages by file name, under the names that GitHub, highlight.js and Pygments share, where such a name exists. */
#include "sessionfs/render/tool.h"

#include "text.h"

#include <strings.h>

/* clang-format off */
static const char *const by_extension[][2] = {
	{"ts", "ts"}, {"mts", "ts"}, {"cts", "ts"}, {"tsx", "tsx"},
	{"js", "js"}, {"mjs", "js"}, {"cjs", "js"}, {"jsx", "jsx"}, {"vue", "vue"}, {"svelte", "svelte"},
	{"json", "json"}, {"jsonc", "json"}, {"jsonl", "json"}, {"ndjson", "json"}, {"json5", "json5"},
	{"md", "markdown"}, {"markdown", "markdown"}, {"mdx", "markdown"}, {"rst", "rst"}, {"tex", "latex"},
	{"html", "html"}, {"htm", "html"}, {"xhtml", "html"}, {"xml", "xml"}, {"svg", "xml"}, {"plist", "xml"}, {"xsl", "xml"},
	{"css", "css"}, {"scss", "scss"}, {"sass", "sass"}, {"less", "less"}, {"styl", "stylus"},
	{"py", "python"}, {"pyi", "python"}, {"pyw", "python"}, {"rb", "ruby"}, {"rake", "ruby"}, {"gemspec", "ruby"},
	{"rs", "rust"}, {"go", "go"}, {"c", "c"}, {"h", "c"},
	{"cc", "cpp"}, {"cpp", "cpp"}, {"cxx", "cpp"}, {"hh", "cpp"}, {"hpp", "cpp"}, {"hxx", "cpp"}, {"ino", "cpp"},
	{"m", "objectivec"}, {"mm", "objectivec"}, {"cs", "csharp"}, {"fs", "fsharp"}, {"vb", "vbnet"},
	{"java", "java"}, {"kt", "kotlin"}, {"kts", "kotlin"}, {"scala", "scala"}, {"groovy", "groovy"}, {"gradle", "groovy"},
	{"swift", "swift"}, {"dart", "dart"}, {"php", "php"}, {"pl", "perl"}, {"pm", "perl"}, {"lua", "lua"}, {"r", "r"},
	{"jl", "julia"}, {"ex", "elixir"}, {"exs", "elixir"}, {"erl", "erlang"}, {"hs", "haskell"}, {"ml", "ocaml"}, {"mli", "ocaml"},
	{"clj", "clojure"}, {"cljs", "clojure"}, {"el", "lisp"}, {"lisp", "lisp"}, {"scm", "scheme"}, {"zig", "zig"}, {"nim", "nim"},
	{"v", "verilog"}, {"sv", "verilog"}, {"vhd", "vhdl"}, {"vhdl", "vhdl"}, {"asm", "asm"}, {"s", "asm"},
	{"sh", "bash"}, {"bash", "bash"}, {"zsh", "bash"}, {"ksh", "bash"}, {"fish", "fish"}, {"bats", "bash"},
	{"ps1", "powershell"}, {"psm1", "powershell"}, {"bat", "bat"}, {"cmd", "bat"}, {"awk", "awk"},
	{"sql", "sql"}, {"graphql", "graphql"}, {"gql", "graphql"}, {"proto", "protobuf"}, {"prisma", "prisma"},
	{"yml", "yaml"}, {"yaml", "yaml"}, {"toml", "toml"}, {"ini", "ini"}, {"cfg", "ini"}, {"conf", "ini"}, {"properties", "properties"},
	{"tf", "terraform"}, {"hcl", "hcl"}, {"nix", "nix"}, {"cmake", "cmake"}, {"mk", "makefile"}, {"dockerfile", "dockerfile"},
	{"diff", "diff"}, {"patch", "diff"}, {"wgsl", "wgsl"}, {"glsl", "glsl"}, {"sol", "solidity"}, {"vim", "vim"},
};

static const char *const by_name[][2] = {
	{"makefile", "makefile"}, {"gnumakefile", "makefile"}, {"cmakelists.txt", "cmake"}, {"dockerfile", "dockerfile"},
	{"containerfile", "dockerfile"}, {"gemfile", "ruby"}, {"rakefile", "ruby"}, {"vagrantfile", "ruby"}, {"podfile", "ruby"},
	{"jenkinsfile", "groovy"}, {"cargo.lock", "toml"}, {"poetry.lock", "toml"}, {"uv.lock", "toml"}, {"go.mod", "go"},
	{".bashrc", "bash"}, {".bash_profile", "bash"}, {".profile", "bash"}, {".zshrc", "bash"}, {".env", "bash"}, {"pkgbuild", "bash"},
	{".vimrc", "vim"}, {".editorconfig", "ini"}, {".gitconfig", "ini"}, {".npmrc", "ini"}, {".babelrc", "json"},
	{".eslintrc", "json"}, {".prettierrc", "json"}, {"build.bazel", "python"}, {"nginx.conf", "nginx"},
};
/* clang-format on */

static const char *language_lookup(struct span key, const char *const (*table)[2], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(table[i][0]) == key.n && strncasecmp(table[i][0], key.p, key.n) == 0)
			return table[i][1];
	return "";
}

/* Sets *text to the part after the last `c`, or keeps all. Returns false if the text has no `c`. */
static bool span_after_last(char c, struct span *text)
{
	const char *at = text->n ? memrchr(text->p, c, text->n) : NULL;
	if (at)
		*text = (struct span){at + 1, text->n - (size_t)(at + 1 - text->p)};
	return at;
}

const char *file_language(struct span path)
{
	span_after_last('/', &path);
	span_after_last('\\', &path);
	const char *language = language_lookup(path, by_name, sizeof by_name / sizeof *by_name);
	if (*language || !span_after_last('.', &path))
		return language;
	return language_lookup(path, by_extension, sizeof by_extension / sizeof *by_extension);
}

const char *tool_file_language(const struct tool_use *u)
{
	struct buf path CLEANUP_BUF = BUF_INIT;

	text_add_inline(u->path, &path);
	return file_language(buf_span(&path));
}
