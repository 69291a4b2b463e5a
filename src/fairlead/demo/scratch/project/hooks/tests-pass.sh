#!/bin/sh
# Written for Fairlead: any exit but 0 blocks, with the output as the reason. At Stop: the agent goes on.
echo "2 tests fail: test_login, test_logout"
exit 1
