// Package edge has what edges of several protocols share: httplimit, grpclimit and connectlimit.
//
//   - A [Gate] holds the calls of a client back, as its limiter and the server say. In general,
//     they pass in the order in which they came.
//   - [Take] decides on a call that a server has received, at once or after a wait.
//   - [Join] and [Alternative] combine keys. [Split] takes a joined key apart.
//   - [CheckServer] and [CheckClient] check the fields that interceptors have.
//   - [Answering] lets connectlimit answer for httplimit.
//
// grpclimit and connectlimit are modules of their own. A user can have an older release of one of
// them beside a newer one of this package: do not change what is here, but add to it.
package edge
