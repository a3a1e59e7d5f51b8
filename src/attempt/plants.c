/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a host program would run or be configured by. */

#include "attempt/plants.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

/* Matched against the last part of the path. */
static const char *const names[] = {".gitattributes", ".gitmodules", ".gitconfig", ".bashrc",
	".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile", ".envrc",
	"package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "pip.conf",
	"conftest.py", "sitecustomize.py", "usercustomize.py", "setup.py", "setup.cfg",
	"pyproject.toml", "Makefile", "makefile", "GNUmakefile", "CMakeLists.txt", "meson.build",
	"build.rs", "Rakefile", "Gemfile", "Vagrantfile", "justfile", ".mcp.json", "lefthook.yml",
	".pre-commit-config.yaml", ".sbxenv.yaml", ".gdbinit", ".lldbinit", ".vimrc", ".exrc",
	".nvimrc", "*.pth", NULL};

/* Matched against the whole path and against every tail of it that begins after a slash. */
static const char *const paths[] = {".git/hooks/*", ".git/config", ".git/config.worktree",
	".git/commondir", ".git/info/attributes", ".git/modules/*/hooks/*", ".git/modules/*/config",
	".git/worktrees/*/commondir", ".husky/*", ".vscode/tasks.json", ".vscode/settings.json",
	".vscode/launch.json", ".vscode/extensions.json", ".idea/*", ".claude/*", ".codex/*",
	".gemini/*", ".cursor/*", ".opencode/*", ".github/workflows/*", ".cargo/config.toml",
	".cargo/config", "node_modules/.bin/*", ".venv/bin/*", "venv/bin/*", ".ssh/*", NULL};

bool plants_is_one(const char *path, bool executable)
{
	const char *last = strrchr(path, '/');

	for (size_t i = 0; names[i] != NULL; i++)
		if (fnmatch(names[i], last != NULL ? last + 1 : path, 0) == 0)
			return true;
	for (const char *tail = path; tail != NULL; tail = strchr(tail, '/')) {
		if (*tail == '/')
			tail++;
		for (size_t i = 0; paths[i] != NULL; i++)
			if (fnmatch(paths[i], tail, 0) == 0)
				return true;
	}
	/* a directory that PATH often holds */
	return executable && (strncmp(path, "bin/", 4) == 0 || strstr(path, "/bin/") != NULL);
}
