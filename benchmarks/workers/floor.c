/* floor SOCKET: the smallest process that sends its stdin to a socket and prints the reply; it checks nothing. */
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv) {
    static char data[1 << 16];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (argc < 2) return 1;
    strncpy(address.sun_path, argv[1], sizeof address.sun_path - 1);
    ssize_t size = read(0, data + 8, sizeof data - 8);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (size < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) return 1;
    uint32_t length = (uint32_t)size;
    memcpy(data, "RAW1", 4);
    memcpy(data + 4, &length, 4);
    if (write(fd, data, (size_t)size + 8) < 0) return 1;
    size = read(fd, data, sizeof data);
    return size < 0 || write(1, data, (size_t)size) < 0;
}
