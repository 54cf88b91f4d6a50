"""Searches of routable maps, in a thread of their own."""

from resolvers.request.threads import FairThreads

# One thread: GEOS changes a prepared geometry while it tests it, so two searches of a map at once
# end the process.
run_search = FairThreads("search", max_threads=1).run
