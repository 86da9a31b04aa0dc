/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screen of weft coro top. It runs in a child: whatever ends the child, the parent puts the
 * terminal back as it was; and the child ends when the parent does.
 *
 * It is here, and not beside its model, because it draws lines that are laid out by report, says
 * its errors as the command does, and is all that needs ncurses.
 */
#include "cli/coro/coro_top_text.h"

#include "cli/frame/cli.h"

#include <errno.h>

#ifndef HAVE_NCURSES

int top_screen(struct top *t, uint64_t refresh_ns)
{
	(void)t;
	(void)refresh_ns;
	return cli_error("weft was built without ncurses; --once prints");
}

#else

#include <locale.h>
#include <ncurses.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define HEAD_LINES 4
#define REFRESH_LEAST_MS 100

/* ncurses declares it in <term.h>, a name that a header of ours has, too. */
NCURSES_EXPORT(int) setupterm(const char *term, int fd, int *error);

static volatile sig_atomic_t is_over;

struct screen {
	struct top *top;
	int refresh_ms;
	size_t first; /* row at the top */
	int is_paused, typing, error;
	char typed[64];
};

static void coro_top_screen_end(int number)
{
	(void)number;
	is_over = 1;
}

/* ---- drawing */

static void draw_line(int y, const char *text, attr_t how)
{
	int columns = getmaxx(stdscr), rows = getmaxy(stdscr);

	if (y >= rows || columns < 1)
		return;
	attrset((int)how);
	move(y, 0);
	clrtoeol();
	addnstr(text, columns);
	attrset((int)A_NORMAL);
}

static void draw_keys(const struct screen *s, int y)
{
	char line[TOP_LINE];

	if (s->typing)
		snprintf(line, sizeof(line), "filter: %s_", s->typed);
	else
		snprintf(line, sizeof(line),
			 "q quit  s sort  / filter  l lints  space %s  +- %d ms",
			 s->is_paused ? "go on" : "pause", s->refresh_ms);
	draw_line(y, line, A_DIM);
}

static void coro_top_screen_draw(struct screen *s)
{
	struct top *t = s->top;
	char line[TOP_LINE];
	int rows = getmaxy(stdscr), room = rows - HEAD_LINES - 1;

	erase();
	draw_line(0, top_title(t, line), A_BOLD);
	draw_line(1, top_sums(t, line), A_NORMAL);
	draw_line(2, top_warnings(t, line), t->linted[0] ? A_BOLD : A_NORMAL);
	draw_line(3, top_heads(line), A_REVERSE);
	if (s->first && s->first >= t->count)
		s->first = t->count ? t->count - 1 : 0;
	for (int i = 0; i < room && s->first + (size_t)i < t->count; i++) {
		const struct top_row *row = &t->rows[s->first + (size_t)i];

		draw_line(HEAD_LINES + i, top_line(t, row, line), row->lints ? A_BOLD : A_NORMAL);
	}
	draw_keys(s, rows - 1);
	refresh();
}

/* ---- keys */

static void type_filter(struct screen *s, int key)
{
	size_t used = strlen(s->typed);

	if (key == '\n' || key == '\r' || key == KEY_ENTER) {
		snprintf(s->top->filter, sizeof(s->top->filter), "%s", s->typed);
		s->typing = 0;
		s->first = 0;
	} else if (key == 27) {
		s->typing = 0;
	} else if (key == KEY_BACKSPACE || key == 127 || key == 8) {
		if (used)
			s->typed[used - 1] = '\0';
	} else if (key >= ' ' && key < 256 && used + 1 < sizeof(s->typed)) {
		s->typed[used] = (char)key;
		s->typed[used + 1] = '\0';
	}
}

static void scroll_by(struct screen *s, long rows)
{
	if (rows < 0 && s->first < (size_t)-rows)
		s->first = 0;
	else
		s->first = (size_t)((long)s->first + rows);
}

static void set_refresh(struct screen *s, int ms)
{
	s->refresh_ms = ms < REFRESH_LEAST_MS ? REFRESH_LEAST_MS : ms > 60000 ? 60000 : ms;
}

static void coro_top_screen_take_key(struct screen *s, int key)
{
	switch (key) {
	case 'q':
		is_over = 1;
		break;
	case 's':
		s->top->sort = (s->top->sort + 1) % TOP_SORTS;
		break;
	case 'l':
		s->top->only_lints = !s->top->only_lints;
		break;
	case '/':
		s->typing = 1;
		s->typed[0] = '\0';
		break;
	case ' ':
		s->is_paused = !s->is_paused;
		break;
	case '+':
	case '-':
		set_refresh(s, key == '+' ? s->refresh_ms * 2 : s->refresh_ms / 2);
		break;
	case KEY_UP:
	case KEY_DOWN:
		scroll_by(s, key == KEY_UP ? -1 : 1);
		break;
	case KEY_PPAGE:
	case KEY_NPAGE:
		scroll_by(s, key == KEY_PPAGE ? -10 : 10);
		break;
	default:
		break;
	}
}

/* ---- the child */

static void loop(struct screen *s)
{
	while (!is_over && !s->error) {
		int key;

		if (!s->is_paused)
			s->error = top_look(s->top);
		coro_top_screen_draw(s);
		timeout(s->refresh_ms);
		key = getch();
		/* All keys that were typed are taken before the next look. EIO: the terminal is
		 * gone. */
		if (key == ERR && errno == EIO)
			is_over = 1;
		timeout(0);
		for (; key != ERR; key = getch())
			if (s->typing)
				type_filter(s, key);
			else
				coro_top_screen_take_key(s, key);
	}
}

static void catch_ends(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction action = {.sa_handler = coro_top_screen_end};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaction(ends[i], &action, NULL);
}

static int run_child(struct top *t, uint64_t refresh_ns)
{
	struct screen s = {.top = t, .refresh_ms = (int)(refresh_ns / 1000000)};

	if (s.refresh_ms < REFRESH_LEAST_MS)
		s.refresh_ms = REFRESH_LEAST_MS;
	setlocale(LC_CTYPE, "");
	if (!newterm(NULL, stdout, stdin))
		return cli_error("this terminal is not known (TERM); --once prints");
	catch_ends();
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	loop(&s);
	endwin();
	return s.error ? cli_error("%s: %s", t->source.path, strerror(-s.error)) : CLI_DONE;
}

/* ---- the parent */

static void coro_top_screen_put_back(const struct termios *before)
{
	static const char *const names[] = {"rmkx", "cnorm", "sgr0", "rmcup"};
	int error;

	if (setupterm(NULL, STDOUT_FILENO, &error) == OK)
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			const char *text = tigetstr(names[i]);

			if (text && text != (const char *)-1)
				putp(text);
		}
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSANOW, before);
}

int top_screen(struct top *t, uint64_t refresh_ns)
{
	struct termios before;
	pid_t parent = getpid(), child;
	int status;

	if (tcgetattr(STDIN_FILENO, &before))
		return cli_error("standard input: %s", strerror(errno));
	fflush(NULL);
	child = fork();
	if (child < 0)
		return cli_error("%s", strerror(errno));
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			_exit(CLI_FAILED);
		status = run_child(t, refresh_ns);
		fflush(NULL);
		_exit(status);
	}
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return cli_error("%s", strerror(errno));
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	coro_top_screen_put_back(&before);
	return cli_error("ended by signal %d", WTERMSIG(status));
}

#endif
