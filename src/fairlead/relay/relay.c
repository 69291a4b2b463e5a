/* fairlead-relay SOCKET COLD… hook ARG…

   Passes an agent's event to the server behind SOCKET and the server's reply back. Whatever goes wrong before
   there is a whole reply, it becomes the cold command, which answers by itself; where there is no time left
   for that, it says what the server gave it to say in this case. Nothing of half a reply is ever written.

   Little endian, every length before its bytes:
     request  FLH1  u32 n {u32 arg}  u32 n {u32 NAME=value}  u32 cwd  u64 stdin
     ack      FLA1  u32 deadline_ms  u32 exit_code  u32 stdout  u32 stderr  (what to say if no reply comes in time)
     reply    FLR1  u32 exit_code  u32 stdout  u32 stderr  DONE */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#define REFUSED 2 /* what most agents take for it */
#ifndef ACK_SECONDS
#define ACK_SECONDS 1.0
#endif
#ifndef SILENCE
#define SILENCE 1.0 /* after which a whole document is taken for all of stdin */
#endif
#define STRANGERS_PATIENCE 2.5
#define LARGEST_ENVIRON (2u << 20)
#define LARGEST (64u << 20) /* of stdin, and of each part of a reply */

extern char **environ;
struct bytes { unsigned char *data; size_t used, room; };
struct answer { uint32_t code; struct bytes out, err; };
enum outcome { WHOLE, CUT, LATE };
static char **cold_words, **arguments; /* the cold command; what follows its word `hook` */
static struct bytes event;             /* what has been taken from stdin */
static double began;
static void (*on_pipe)(int); /* what a closed pipe meant before us */

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int has_room(struct bytes *bytes, size_t more) {
    if (bytes->room - bytes->used >= more) return 1;
    if (bytes->used > SIZE_MAX / 4) return 0;
    size_t room = 2 * bytes->used + more;
    unsigned char *data = realloc(bytes->data, room);
    if (data != NULL) *bytes = (struct bytes){data, bytes->used, room};
    return data != NULL;
}

static int add(struct bytes *bytes, const void *data, size_t size) {
    if (!has_room(bytes, size)) return 0;
    memcpy(bytes->data + bytes->used, data, size);
    bytes->used += size;
    return 1;
}

static int add_number(struct bytes *bytes, uint64_t value, int width) {
    unsigned char digits[8];
    for (int place = 0; place < width; place++) digits[place] = (unsigned char)(value >> (8 * place));
    return add(bytes, digits, (size_t)width);
}

static int add_text(struct bytes *bytes, const char *text) {
    return add_number(bytes, strlen(text), 4) && add(bytes, text, strlen(text));
}
static uint32_t number_at(const unsigned char *data) {
    return data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
}

static int write_all(int fd, const unsigned char *data, size_t size) {
    while (size > 0) {
        ssize_t count = write(fd, data, size);
        if (count < 0 && errno == EAGAIN) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
        else if (count < 0 && errno != EINTR) return 0;
        else if (count > 0) data += count, size -= (size_t)count;
    }
    return 1;
}

static _Noreturn void refuse(const char *what, const char *which, int error) {
    dprintf(2, "fairlead: %s %s: %s. Install Fairlead again and run `fairlead init`, or take this hook out of the "
            "agent's settings.\n", what, which, strerror(error));
    _exit(REFUSED);
}

/* How long the agent waits, by --timeout; 0 where that is not said. With `less`, what is left is written there. */
static double timeout(double less) {
    static char text[64];
    for (char **word = arguments; *word != NULL; word++) {
        int apart = strcmp(*word, "--timeout") == 0 && word[1] != NULL;
        if (!apart && strncmp(*word, "--timeout=", 10) != 0) continue;
        double seconds = strtod(apart ? word[1] : *word + 10, NULL);
        if (!(seconds > 0 && seconds < 1e6)) return 0;
        double left = seconds - less > 0.1 ? seconds - less : 0.1;
        snprintf(text, sizeof text, "%s%.3f", apart ? "" : "--timeout=", left);
        if (less > 0.1) word[apart] = text, began += less;
        return left;
    }
    return 0;
}

static int kept_event(void) {
    int fd = -1;
#ifdef MFD_CLOEXEC
    fd = memfd_create("event", MFD_CLOEXEC);
#endif
    FILE *file = fd < 0 ? tmpfile() : NULL;
    if (file != NULL) fd = fileno(file);
    return fd >= 0 && write_all(fd, event.data, event.used) && lseek(fd, 0, SEEK_SET) == 0 ? fd : -1;
}

static _Noreturn void go_cold(void) {
    if (event.used > 0) {
        int fd = kept_event();
        if (fd < 0 || dup2(fd, 0) < 0) refuse("cannot pass the event on to", cold_words[0], errno);
        close(fd);
    }
    timeout(now() - began); /* who starts late has less time: else a refusal would come after the agent has gone */
    signal(SIGPIPE, on_pipe);
    execvp(cold_words[0], cold_words);
    refuse("cannot start", cold_words[0], errno);
}

/* Whether what has come so far is a whole JSON document, by its brackets. */
static int is_whole(void) {
    size_t depth = 0, ended = 0;
    int quoted = 0;
    for (size_t at = 0; at < event.used; at++) {
        unsigned char sign = event.data[at];
        if (quoted) {
            if (sign == '\\') at++;
            else if (sign == '"') quoted = 0;
        } else if (sign == '"' && depth) quoted = 1;
        else if (sign == '{' || sign == '[') depth++;
        else if ((sign == '}' || sign == ']') && depth) ended = --depth == 0;
        else if (!depth && memchr(" \t\r\n", sign, 4) == NULL) return 0;
    }
    return ended && !depth;
}

static void read_event(void) {
    double seconds = timeout(0), ends = began + (seconds > 0 ? seconds / 2 : STRANGERS_PATIENCE);
    for (;;) {
        double left = ends - now();
        if (left <= 0 || !has_room(&event, 1 << 16)) go_cold();
        struct pollfd waiting = {0, POLLIN, 0};
        int ready = poll(&waiting, 1, (int)((left < SILENCE ? left : SILENCE) * 1000) + 1);
        if (ready == 0 && event.used == 0) go_cold(); /* which may not need one, and knows its agent's patience */
        if (ready == 0 && is_whole()) return;
        if (ready == 0) continue;
        ssize_t count = ready < 0 ? -1 : read(0, event.data + event.used, event.room - event.used);
        if (count == 0) return;
        if (count > 0) event.used += (size_t)count;
        else if (errno != EINTR && errno != EAGAIN) go_cold();
    }
}

/* Whether nobody else can have put this socket there. */
static int is_our_socket(const char *path) {
    struct stat socket, folder;
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (slash == NULL || snprintf(parent, sizeof parent, "%.*s/", (int)(slash - path), path) >= PATH_MAX) return 0;
    return lstat(path, &socket) == 0 && S_ISSOCK(socket.st_mode) && socket.st_uid == getuid()
        && stat(parent, &folder) == 0 && folder.st_uid == getuid() && !(folder.st_mode & (S_IWGRP | S_IWOTH));
}

static int is_our_peer(int fd) {
#ifdef SO_PEERCRED
    struct ucred peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &(socklen_t){sizeof peer}) == 0 && peer.uid == getuid();
#else
    uid_t user;
    gid_t group;
    return getpeereid(fd, &user, &group) == 0 && user == getuid();
#endif
}

static int connected(const char *path, double seconds) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval limit = {(time_t)seconds, (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6) + 1};
    if (strlen(path) >= sizeof address.sun_path) return -1;
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit); /* connect() waits where many wait to be let in */
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0 || !is_our_peer(fd)) return -1;
    return fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ? -1 : fd;
}

static int is_ready(int fd, short what, double ends) {
    double left = ends - now();
    struct pollfd waiting = {fd, what, 0};
    return left > 0 && (poll(&waiting, 1, left > 86400 ? 86400000 : (int)(left * 1000) + 1) >= 0 || errno == EINTR);
}

static int sent(int fd, const struct bytes *bytes, double ends) {
    for (size_t done = 0; done < bytes->used;) {
        ssize_t count = send(fd, bytes->data + done, bytes->used - done, 0);
        if (count > 0) done += (size_t)count;
        else if (errno != EAGAIN && errno != EINTR) return 0;
        else if (!is_ready(fd, POLLOUT, ends)) return 0;
    }
    return 1;
}

static enum outcome received(int fd, struct bytes *into, size_t size, double ends) {
    while (size > 0) {
        size_t most = size < 1 << 20 ? size : 1 << 20; /* room for what has come, not for what is promised */
        if (!has_room(into, most)) return CUT;
        ssize_t count = recv(fd, into->data + into->used, most, 0);
        if (count > 0) into->used += (size_t)count, size -= (size_t)count;
        else if (count == 0 || (errno != EAGAIN && errno != EINTR)) return CUT;
        else if (!is_ready(fd, POLLIN, ends)) return LATE;
    }
    return WHOLE;
}

/* An ack has one number more than a reply, and no end mark. */
static enum outcome read_answer(int fd, const char *mark, uint32_t *deadline, struct answer *answer, double ends) {
    struct bytes head = {0}, tail = {0};
    enum outcome outcome = received(fd, &head, deadline ? 20 : 16, ends);
    if (outcome != WHOLE) return outcome;
    const unsigned char *numbers = head.data + (deadline ? 8 : 4);
    if (deadline) *deadline = number_at(head.data + 4);
    answer->code = number_at(numbers);
    uint32_t out = number_at(numbers + 4), err = number_at(numbers + 8);
    if (memcmp(head.data, mark, 4) != 0 || answer->code > 255 || out > LARGEST || err > LARGEST) return CUT;
    if ((outcome = received(fd, &answer->out, out, ends)) != WHOLE) return outcome;
    if ((outcome = received(fd, &answer->err, err, ends)) != WHOLE || deadline) return outcome;
    if ((outcome = received(fd, &tail, 4, ends)) != WHOLE) return outcome;
    return memcmp(tail.data, "DONE", 4) == 0 ? WHOLE : CUT;
}

static int written_request(struct bytes *request) {
    char folder[PATH_MAX];
    uint32_t words = 0, variables = 0, size = 0;
    for (; arguments[words] != NULL; words++)
        if (words == 64 || strlen(arguments[words]) > 4096) return 0;
    for (; environ[variables] != NULL; variables++)
        if ((size += (uint32_t)strlen(environ[variables])) > LARGEST_ENVIRON) return 0;
    if (event.used > LARGEST || getcwd(folder, sizeof folder) == NULL) return 0;
    int fits = add(request, "FLH1", 4) && add_number(request, words, 4);
    for (char **word = arguments; fits && *word != NULL; word++) fits = add_text(request, *word);
    fits = fits && add_number(request, variables, 4);
    for (char **one = environ; fits && *one != NULL; one++) fits = add_text(request, *one);
    return fits && add_text(request, folder) && add_number(request, event.used, 8);
}

static _Noreturn void say(const struct answer *answer) {
    write_all(2, answer->err.data, answer->err.used);
    int delivered = write_all(1, answer->out.data, answer->out.used);
    _exit(delivered || answer->code != 0 ? (int)answer->code : REFUSED);
}

static _Noreturn void end(int number) { _exit(128 + number); } /* the connection goes with us */
int main(int argc, char **argv) {
    static const int ends_us[] = {SIGTERM, SIGINT, SIGHUP};
    began = now();
    on_pipe = signal(SIGPIPE, SIG_IGN);
    if (argc == 2 && strcmp(argv[1], "--version") == 0) return puts("fairlead-relay 1") < 0;
    if (argc < 4) refuse("this relay is called without", "its command", EINVAL);
    cold_words = argv + 2;
    arguments = cold_words + 1;
    while (*arguments != NULL && strcmp(*arguments, "hook") != 0) arguments++;
    if (*arguments == NULL) go_cold();
    arguments++;
    if (fcntl(1, F_GETFD) < 0 || fcntl(2, F_GETFD) < 0 || !is_our_socket(argv[1])) go_cold();
    for (int at = 0; at < 3; at++)
        if (signal(ends_us[at], end) == SIG_IGN) signal(ends_us[at], SIG_IGN);
    read_event();
    /* The server counts from now on. */
    double seconds = timeout(now() - began), limit = seconds > 0 && seconds / 3 < ACK_SECONDS ? seconds / 3 : ACK_SECONDS;
    double ends = now() + limit;
    struct bytes request = {0};
    struct answer failure = {0}, reply = {0};
    uint32_t milliseconds = 0;
    if (!written_request(&request)) go_cold();
    int fd = connected(argv[1], limit);
    if (fd < 0 || !sent(fd, &request, ends) || !sent(fd, &event, ends)) go_cold();
    if (read_answer(fd, "FLA1", &milliseconds, &failure, ends) != WHOLE) go_cold();
    double deadline = now() + milliseconds / 1e3;
    enum outcome outcome = read_answer(fd, "FLR1", NULL, &reply, deadline);
    if (outcome == WHOLE) say(&reply);
    if (outcome == CUT && deadline - now() >= milliseconds / 3e3) go_cold();
    say(&failure);
}
