// Package replay tells what policies would have done to the requests in the log of a server. It
// asks limiters of package weir for each request, with a clock that follows the log. It reads a log
// once, and its memory follows the number of clients, not that of requests.
package replay
