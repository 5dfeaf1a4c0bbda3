// Package conservation tests that no event is granted or given back twice, whatever many callers do
// at the same time: take, reserve, settle, cancel and return, on clocks that stand still or move,
// on stores that fail. It goes through the public API; run it with -race, too.
package conservation
