// Package conservation tests that no event is granted or given back twice. Many callers take,
// reserve, settle, cancel and return at the same time, on clocks that stand still or move, and on
// stores that fail. It goes through the public API; run it with -race, too.
package conservation
