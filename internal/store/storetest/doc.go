// Package storetest is the definition of a correct store. What stands here is asked of every
// [inventory.Store], at its seam and with no knowledge of how it is built; a store that passes sells
// every seat exactly once, as far as tests can tell.
//
// To hold a new store to it, write one test in the store's own package:
//
//	func TestTheStoreIsCorrect(t *testing.T) { storetest.Run(t, open) }
//	func TestWrongStoresAreCaught(t *testing.T) { storetest.RunMutants(t, open, ownMutants()...) }
//
// where open is an [Opener]: it makes a fresh, empty store for one test, closes it with t.Cleanup, and
// says in [Fresh] what else the tests may do with it. Store, Catalogue and Records are required. The
// rest are capabilities: a second node, a clock that can be moved, a way past the judge to the schema,
// counters of commits and deadlocks. A check that needs one which the store does not offer is not
// registered; Run logs which are missing and what is not held because of it. Offer as many as the
// store can: without Unjudged nobody has seen its constraints, without Commits nobody knows that a
// repeated confirmation is a write.
//
// The suite has five parts. Conformance holds the promises of ARCHITECTURE.md and the rules every store
// keeps, a check a rule. Sequential histories are drawn at random and run on the store and on a model
// of thirty lines that shares no code with the judge. Concurrent histories are judged for
// linearizability, small ones whole and large ones unit by unit, and leave a picture when they fail. Lost
// replies send every verb twice. And the mutants show that all of this can fail: each is a store with
// one guard off, and names the check that must catch it. A store with row locks, a script or a cache
// of its own can be wrong in ways of its own; it adds a [Mutant] for each.
//
// A store is opened dozens of times, so opening should cost little: copy a migrated database rather than
// migrate one. This package imports testing and is imported by tests only.
package storetest
