package inventory

import (
	"context"
	"iter"
)

// Store is one deployment's inventory: where holds live and sales are decided. Three stores fulfil
// it, each native to its database; package storetest says what a correct one is.
//
// Every operation names its event, for the event is the shard. A batch is judged in order, at one
// instant of the store's clock, as if nothing else happened meanwhile, and is durable when the call
// returns. An error means that nothing is known of the batch; commands carry ids so that the same
// batch can be sent again and finds its own effect. Stores are safe for concurrent use.
//
// Errors: ErrNotFound (no such event), otherwise the database's, wrapped.
type Store interface {
	Ledger

	// Apply judges and executes claims, changes, extensions and releases; one outcome a command, in order.
	Apply(ctx context.Context, event string, batch []Command) ([]Outcome, error)
	// Hold returns a hold that is alive by the store's clock, and that clock's now; ErrNotFound otherwise.
	Hold(ctx context.Context, event string, key HoldKey) (*Hold, Instant, error)
	// Holds lists live holds in key order, after a key, at most limit.
	Holds(ctx context.Context, event string, after HoldKey, limit int) ([]*Hold, Instant, error)
	// Board reads every unit at one position. Units whose hold has lapsed count as free. A draft has none.
	Board(ctx context.Context, event string) (*Board, error)
	// Changes reads what happened after a position. Gaps and foreign epochs answer Resync.
	Changes(ctx context.Context, event string, after Position) (*Changes, error)
	// Sweep tidies up to limit lapsed holds, so that the map learns of them; promises do not rest on it.
	// It returns how many it ended.
	Sweep(ctx context.Context, limit int) (int, error)
	// Audit proves the promises on the data and yields each breach it finds.
	Audit(ctx context.Context) iter.Seq2[Breach, error]
}

// Ledger is the part of a store where sales live: what a hold store of another kind needs from it.
type Ledger interface {
	// Sell turns holds into orders, each at most once, one outcome a sale, in order. A sale whose hold
	// already became an order answers that order, and writes, so that the answer follows a commit of its own.
	Sell(ctx context.Context, event string, batch []Sale) ([]SaleOutcome, error)
	// Return cancels tickets of one order and puts their units back, each at most once.
	Return(ctx context.Context, event string, r Return) (ReturnOutcome, error)
	// Alter changes an event and its allocations, all or nothing, with its log entry. ErrStale when the
	// event's revision is not Alteration.Expect; a Refusal ChangeUnsafe when what it takes away is in
	// use, as JudgeAlteration says, by rows that are locked. What is inserted for a draft to be published,
	// or for a map that the event is to move to, a store may put there ahead, in turns that let others
	// write between them, if nothing shows or sells it before the whole change is made; what is left
	// there of an attempt that failed, the next one replaces.
	Alter(ctx context.Context, event string, a Alteration) (AlterResult, error)
	// Event reads an event. ErrNotFound.
	Event(ctx context.Context, event string) (*Event, error)
}

// Unit is a unit's number in its event. It never changes once the event is published; where the unit
// stands on the event's map is Layout's to say.
type Unit int32

// Allocation is what is for sale of one unit. Seat units have capacity 1.
type Allocation struct {
	Unit     Unit
	Key      string // seat key or area key, for people who read the database
	Seat     bool
	Class    int // index into Terms.Classes
	Capacity int64
	Held     int64
	Reserved int64
}

// Line is some units of one allocation as one ticket type at one price (minor units).
type Line struct {
	Unit     Unit
	Type     int // index into Terms.Types
	Quantity int64
	Price    int64
}

// Want is a line asked for. Type -1 asks for the allocation's default. Field and TypeField point to
// where it was asked for, for the faults that only the judge can see.
type Want struct {
	Unit      Unit
	Type      int
	Quantity  int64
	Field     string
	TypeField string
}

// Hold is a short claim. It lives while the store's clock is before Deadline.
type Hold struct {
	Key       HoldKey
	Created   Instant
	Deadline  Instant
	Cap       Instant // no extension passes it
	TTL       int64   // seconds a restart of the countdown gives
	ByKey     bool    // made with an organizer's key
	Reference string
	Metadata  map[string]string
	Lines     []Line
}

// Verb is what a command does.
type Verb uint8

// The verbs of Apply.
const (
	Claim Verb = iota + 1
	Change
	Extend
	Release
	Expire // ends a hold that has lapsed, for sweepers; a live one it leaves alone
)

// CommandID identifies one attempt of one caller across retries: made before the first attempt,
// recorded with the effect. A claim without an Idempotency-Key needs none, for its hold key is one as long
// as there is the hold or the order it became; a copy that comes after the hold was let go claims anew.
type CommandID [32]byte

// Command is one thing to do to one hold.
type Command struct {
	Verb Verb
	Key  HoldKey
	ID   CommandID
	Body [32]byte // hash of the request behind an Idempotency-Key; a different one under the same ID is refused
	By   string   // for the log: "buyer" or an API key's id
	// ByKey lifts UnitsPerHold (to the bound of a request) and marks the hold as the organizer's.
	ByKey bool
	Code  *Code // hashed access code, nil for none

	Add    []Want // claim, change
	Remove []Want // change; Type -1 is enough where the hold has one type of the unit
	Retype []Want // change: seats held, by their new type
	Best   bool   // claim: one of Candidates instead of Add
	// Candidates are blocks of seats, best first: the first wholly free one is taken. Commands that ask the
	// same share one list and the memory it lies in; nobody writes to it.
	Candidates [][]Unit
	Beside     Beside      // claim, change: what of the map the rule on single seats needs; nil lifts the rule
	Apart      WarningCode // claim: what the candidates lack, to be said of the one that is taken; empty for nothing
	BestType   int         // claim: the ticket type of a block, -1 for defaults

	TTL       int64 // claim: seconds; 0 for the event's
	Reference string
	Metadata  map[string]string
	Sealed    []byte // the new token, encrypted for a replay; kept with the record
	Reason    string // release: why, for the log
}

// Beside knows which seats of an event's map stand side by side. It never changes and is safe for
// concurrent use.
type Beside interface {
	// Next is the seat beside u in its row: the one after it for a step of 1, the one before it for
	// -1. False at an aisle, at the row's end, and for an area.
	Next(u Unit, step int) (Unit, bool)
}

// Outcome answers a command. Exactly one of Hold and Refusal is set, except that a release sets
// neither, and says in Released whether there was something to let go.
type Outcome struct {
	Hold     *Hold
	Refusal  *Refusal
	Warnings []Warning // with Hold: advice about it, in the order of its units
	Released bool
	Replayed bool   // the effect was found, not made
	Sealed   []byte // with Replayed, what was kept
	Now      Instant
	Position Position

	alternatives []Alternative // the Service's: what to ask for instead
}

// Warning is advice that did not prevent a hold. Unit is the unit it is about, -1 for none.
type Warning struct {
	Code WarningCode
	Unit Unit
}

// WarningCode says what a warning is about. Act on it, never on a text.
type WarningCode string

// The warnings. Their texts are the client's.
const (
	SingleSeatLeft WarningCode = "SINGLE_SEAT_LEFT" // the seat was left alone by this hold
	// What is said of the seats that best available chose, where they are not all beside one another.
	RowsApart  WarningCode = "ROWS_APART"  // in two rows, one behind the other
	SeatsApart WarningCode = "SEATS_APART" // in several places
)

// Sale turns a hold into an order.
type Sale struct {
	Key       HoldKey
	ID        CommandID
	Body      [32]byte
	By        string
	ByKey     bool
	Order     string // the order's id, made before the first attempt
	TokenHash [32]byte
	HasToken  bool // TokenHash is set; a sale by key may not know the hold's token
	Buyer     Buyer
	Reference string
	Metadata  map[string]string
	Payment   Payment
}

// Buyer is who an order is for. Hash identifies the buyer for the limit; zero when there is no address.
type Buyer struct {
	Name  string
	Email string
	Hash  [16]byte
}

// Payment says how an order is paid: "none" (free or later) or "external".
type Payment struct {
	Method    string
	Reference string
}

// SaleOutcome answers a sale: the order, or why not.
type SaleOutcome struct {
	Order    *Order
	Refusal  *Refusal
	Replayed bool // by Idempotency-Key, not merely by the hold
	Now      Instant
}

// OrderState is where an order is in its life.
type OrderState string

// The states of an order.
const (
	OrderConfirmed OrderState = "confirmed"
	OrderCancelled OrderState = "cancelled"
)

// Order is a hold that was bought.
type Order struct {
	ID        string
	Key       HoldKey
	State     OrderState
	Created   Instant
	TokenHash [32]byte
	HasToken  bool
	Buyer     Buyer
	Reference string
	Metadata  map[string]string
	Lines     []Line
	Total     int64
	Payment   Payment
	Tickets   []Ticket
}

// Ticket is one unit of an order.
type Ticket struct {
	ID    string
	Unit  Unit
	Seat  bool
	Type  int
	Price int64
	Valid bool
}

// Return cancels tickets of an order; Tickets empty means all that are valid.
type Return struct {
	Order   string
	Tickets []string
	ID      CommandID
	Body    [32]byte
	By      string
	Reason  string
}

// ReturnOutcome answers a return: the order as it is now, or why not.
type ReturnOutcome struct {
	Order    *Order
	Refusal  *Refusal
	Replayed bool // by Idempotency-Key
}

// Alteration changes an event. Each unit is in at most one of Insert and Drop. Nothing in it is judged
// by the store but Expect, Drop and Resize.
type Alteration struct {
	Expect  int64        // the revision it was decided on
	Event   *Event       // the event as it shall be, Revision already raised
	Insert  []Allocation // in the order of their units
	Repaint []Repaint
	Drop    []Unit // their allocations go; not while they are held or sold. In the order of their units
	Resize  []Resize
	Kind    LogKind
	By      string
	Reason  string
	Record  *Record // the idempotency record, if the caller gave a key
}

// Repaint gives a run of units another class.
type Repaint struct {
	From, Count Unit
	Class       int
}

// Resize gives an area's allocation another capacity, in units, not below what is held and sold of it.
type Resize struct {
	Unit     Unit
	Capacity int64
}

// AlterResult says where the log stands after an alteration.
type AlterResult struct {
	Position Position
	Now      Instant
}

// Record keeps a command's answer with its effect.
type Record struct {
	ID     CommandID
	Body   [32]byte
	Answer []byte
	Sealed []byte
}

// Position is a place in an event's history: versions count log entries, and two positions can be
// compared only within one epoch.
type Position struct {
	Epoch   string
	Version int64
}

// UnitState is a unit at some position. Capacity 0 means that it has no allocation.
type UnitState struct {
	Capacity int64
	Held     int64
	Reserved int64
	Class    int
	Seat     bool
}

// Board is every unit of an event at one position; the index is the unit.
type Board struct {
	Position Position
	Now      Instant
	Revision int64
	State    State
	Units    []UnitState
}

// Changes are absolute values of the units touched after a position.
type Changes struct {
	Position Position
	Revision int64
	State    State
	Resync   bool
	Units    map[Unit]UnitState
}

// LogKind says what happened.
type LogKind string

// The kinds of log entries.
const (
	LogHeld      LogKind = "held"
	LogChanged   LogKind = "changed"
	LogExtended  LogKind = "extended"
	LogReleased  LogKind = "released"
	LogBroken    LogKind = "broken" // let go by the organizer
	LogExpired   LogKind = "expired"
	LogSold      LogKind = "sold"
	LogReturned  LogKind = "returned"
	LogPublished LogKind = "published"
	LogOpened    LogKind = "opened"
	LogPaused    LogKind = "paused"
	LogClosed    LogKind = "closed"
	LogCancelled LogKind = "cancelled"
	LogRepainted LogKind = "repainted"
	LogRemapped  LogKind = "remapped" // moved to another version of its map
	LogEdited    LogKind = "edited"
)

// LogEntry is one line of an event's log. Number is its place in commit order, counted from 1
// without gaps. Units are what was taken (positive) or let go (negative).
type LogEntry struct {
	Number int64
	At     Instant
	Kind   LogKind
	By     string
	Key    HoldKey // zero for none
	Order  string
	Units  []UnitDelta
	Reason string
}

// UnitDelta is a unit and how much of it was taken (positive) or let go (negative). A sale names
// what moved from held to reserved, positive.
type UnitDelta struct {
	Unit  Unit
	Delta int64
}

// Breach is a promise that the data does not keep.
type Breach struct {
	Promise int    `json:"promise"`
	Event   string `json:"event"`
	What    string `json:"what"`
}
