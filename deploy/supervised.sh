#!/bin/sh
# Runs a command under a supervisor that starts again whatever fails, and keeps it from starting again what must not be.
#
# A worker leaves with 78 where records were lost or a topic does not fit: somebody has to look first. Docker's restart
# rules cannot tell one exit code from another, so that one becomes a plain end here. Every other code stays what it is.
set -u

child=''
told=''
# Set before there is a child: a signal that comes in between is passed on as soon as there is one.
trap 'told=1; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null' TERM INT
"$@" &
child=$!
[ -z "$told" ] || kill -TERM "$child" 2>/dev/null
wait "$child"
code=$?
# A trapped signal ends the first wait; what it was passed on to takes its time.
while kill -0 "$child" 2>/dev/null; do
  wait "$child"
  code=$?
done
if [ "$code" -eq 78 ]; then
  echo "supervised: exit code 78, not started again: mend what the line above says, then start it by hand" >&2
  exit 0
fi
exit "$code"
