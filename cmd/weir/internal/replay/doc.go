// Package replay tells what policies would have done to the requests in the log of a server. It
// asks limiters of package weir for each request, with a clock that follows the log. [Run] reads a
// log once, and the start of a file twice. Beyond buffers of a fixed size, its memory follows the
// number of clients, not that of requests.
package replay
