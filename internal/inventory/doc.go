// Package inventory is the domain of Rowlock: events, allocations, offers, holds, sales, and the
// two seams a store fulfils. Its point is that every seat is sold exactly once.
//
// The parts, from the inside out:
//
//   - The judge (judge.go, judge_sale.go) decides a batch of commands against rows that a store has
//     locked, in arrival order, as pure code: what it reads comes through Rows, what it decides
//     leaves as Effects. It holds every rule of holding and selling, once.
//   - The seams (seam.go) are what a store is asked for. Stores are dumb and strict: they lock, read,
//     hand over, and write; the schema's constraints have the last word.
//   - The combiner (combiner.go) gathers the commands of one event while the previous batch is in
//     flight, so that a thousand callers cost a handful of transactions.
//   - The Service (service.go and its neighbours) is the whole of it for a caller: it turns keys into
//     units, tokens into holds, and outcomes into answers.
//
// Everything exported is safe for concurrent use unless it says otherwise. Instants are
// microseconds since 1970 UTC by the store's clock; money is integer minor units.
package inventory
