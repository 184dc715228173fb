package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/seatmap"
)

// staging is what a demo shows: a drawing, and how it is sold. One file may hold several, each with
// a venue and an event of its own.
type staging struct {
	venue          string // its name
	venueReference string
	eventReference string // and when it was made
	drawing        *seatmap.Map
	types          []inventory.TicketType
	rules          []inventory.Rule
}

// The ticket types of a demo.
const (
	demoStandard   = "standard"
	demoPremium    = "premium"
	demoConcession = "concession"
	demoEconomy    = "economy"
	demoStanding   = "standing"
)

// The price zones of a generated venue, in hundredths of its seats, from the nearest.
const (
	premiumShare = 18
	economyShare = 40
	// Above so many sections, zones are made of whole ones, as a stadium prices its blocks. A house of
	// few sections has rows of several prices in each.
	zonedByRowMax = 5
	zoneStep      = 20.0 // centimetres; what is no further apart has one price
)

// usualSeats are those of a venue whose size is not asked for.
func usualSeats(kind seatmap.Kind) int {
	switch kind {
	case seatmap.KindArena:
		return 12_000
	case seatmap.KindBowl:
		return 60_000
	}
	return 1_200
}

// staging chooses what to show.
func (c *demoCommand) staging() (staging, error) {
	if c.Seats == nil && c.Venue == "" {
		return theatreStaging(), nil
	}
	kind, err := kindOf("--venue", cmp.Or(c.Venue, string(seatmap.KindTheatre)))
	if err != nil {
		return staging{}, err
	}
	seats := usualSeats(kind)
	if c.Seats != nil {
		seats = *c.Seats
	}
	return generatedStaging(kind, seats)
}

// kindOf reads a kind of venue.
func kindOf(setting, name string) (seatmap.Kind, error) {
	if !slices.Contains(seatmap.Kinds(), seatmap.Kind(name)) {
		return "", badSetting(setting, "%q is none of %s, %s and %s", name, seatmap.KindTheatre, seatmap.KindArena, seatmap.KindBowl)
	}
	return seatmap.Kind(name), nil
}

// theatreStaging is the demo of the README: Premium in front, Standard behind it with concessions, row
// H of the stalls withheld, standing places on the floor.
func theatreStaging() staging {
	return staging{
		venue: "Demo Theatre", venueReference: "demo-theatre", eventReference: "demo-evening-",
		drawing: seatmap.Theatre(),
		types: []inventory.TicketType{
			{ID: demoStandard, Name: "Standard", Price: 4500},
			{ID: demoPremium, Name: "Premium", Price: 7500},
			{ID: demoConcession, Name: "Concession", Price: 3000},
			{ID: demoStanding, Name: "Standing", Price: 2500},
		},
		rules: []inventory.Rule{
			{Where: inventory.Where{All: true}, Types: []string{demoStandard, demoConcession}},
			{Where: inventory.Where{Rows: []string{"STALLS-A", "STALLS-B", "STALLS-C"}}, Types: []string{demoPremium}},
			{Where: inventory.Where{Rows: []string{"STALLS-H"}}, Channel: "withheld"},
			{Where: inventory.Where{Areas: []string{"FLOOR"}}, Types: []string{demoStanding}},
		},
	}
}

// generatedStaging shows a venue that is drawn for it, with three prices: the nearer, the dearer.
func generatedStaging(kind seatmap.Kind, seats int) (staging, error) {
	drawing, err := seatmap.Generate(kind, seats)
	if err != nil {
		return staging{}, badSetting("--seats", "%w", err)
	}
	names := map[seatmap.Kind]string{
		seatmap.KindTheatre: "Theatre", seatmap.KindArena: "Arena", seatmap.KindBowl: "Stadium",
	}
	reference := fmt.Sprintf("demo-%s-%d", kind, seats)
	drawing.Name = fmt.Sprintf("Demo %s of %d Seats", names[kind], seats)
	show := staging{
		venue: drawing.Name, venueReference: reference, eventReference: reference + "-evening-", drawing: drawing,
		types: []inventory.TicketType{
			{ID: demoStandard, Name: "Standard", Price: 6500},
			{ID: demoPremium, Name: "Premium", Price: 11000},
			{ID: demoConcession, Name: "Concession", Price: 4500},
			{ID: demoEconomy, Name: "Economy", Price: 3500},
		},
		rules: zoneRules(drawing),
	}
	if len(drawing.Areas) > 0 {
		show.types = append(show.types, inventory.TicketType{ID: demoStanding, Name: "Standing", Price: 5500})
	}
	return show, nil
}

// zone is a part of a house that has one price.
type zone struct {
	key      string
	seats    int
	distance float64 // of its seats from the focal point, on average
}

// zoneRules price a house by how far its rows, or where there are many its sections, are from what
// is to be seen.
func zoneRules(drawing *seatmap.Map) []inventory.Rule {
	byRow := len(drawing.Sections) <= zonedByRowMax
	zones := zonesOf(seatmap.NewPlan(drawing), byRow)
	slices.SortStableFunc(zones, func(a, b zone) int { return cmp.Compare(a.distance, b.distance) })
	total, before, ahead := 0, 0, 0
	for _, z := range zones {
		total += z.seats
	}
	var premium, economy []string
	for i, z := range zones {
		if i == 0 || z.distance-zones[i-1].distance > zoneStep {
			ahead = before // as far away means as dear, so that both halves of a house have the same price
		}
		switch {
		case ahead*100 < premiumShare*total:
			premium = append(premium, z.key)
		case ahead*100 > (100-economyShare)*total:
			economy = append(economy, z.key)
		}
		before += z.seats
	}
	rules := []inventory.Rule{{Where: inventory.Where{All: true}, Types: []string{demoStandard, demoConcession}}}
	price := func(keys []string, id string) {
		where := inventory.Where{Sections: keys}
		if byRow {
			where = inventory.Where{Rows: keys}
		}
		if len(keys) > 0 {
			rules = append(rules, inventory.Rule{Where: where, Types: []string{id}})
		}
	}
	price(premium, demoPremium)
	price(economy, demoEconomy)
	for _, area := range drawing.Areas {
		rules = append(rules, inventory.Rule{Where: inventory.Where{Areas: []string{area.Key}}, Types: []string{demoStanding}})
	}
	return rules
}

// zonesOf cuts a house into its rows or its sections, in the order of its seats.
func zonesOf(plan *seatmap.Plan, byRow bool) []zone {
	var zones []zone
	for i := range plan.Seats {
		key := plan.Seats[i].Section
		if byRow {
			key = plan.Seats[i].Row
		}
		if len(zones) == 0 || zones[len(zones)-1].key != key {
			zones = append(zones, zone{key: key})
		}
		z := &zones[len(zones)-1]
		z.distance = (z.distance*float64(z.seats) + plan.FocalDistance(i)) / float64(z.seats+1)
		z.seats++
	}
	return zones
}

// spec describes a new evening on a map.
func (s *staging) spec(seatMap string, now time.Time) inventory.EventSpec {
	// The moment of making is in the reference, so that a cancelled evening does not stand in the way.
	reference := s.eventReference + now.UTC().Format("20060102-150405")
	name, zone, currency := "The Example Players: An Example Evening", demoZone, "EUR"
	at := inventory.InstantOf(demoStart(now))
	return inventory.EventSpec{
		Fields: inventory.EventFields{
			Reference: &reference, Name: &name, StartsAt: &at, TimeZone: &zone, Map: &seatMap, Currency: &currency,
			Types: s.types,
		},
		Rules: s.rules,
	}
}
