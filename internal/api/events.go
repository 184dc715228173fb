package api

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
)

// listEvents lists what is on sale, or with a key all events of its organizer.
func (s *Server) listEvents(x *exchange, r *http.Request) error {
	p, err := page(r, idsOf(inventory.PrefixEvent))
	if err != nil {
		return err
	}
	events, next, err := s.service.Events(r.Context(), x.caller, p)
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, listOf(events, next, eventOf))
}

func (s *Server) getEvent(x *exchange, r *http.Request) error {
	v, err := s.service.Event(r.Context(), x.caller, r.PathValue("event"))
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, eventOf(v))
}

// createEvents makes one event from an object, or from an array all of them or none.
func (s *Server) createEvents(x *exchange, r *http.Request) error {
	var in []client.EventRequest
	many := bytes.HasPrefix(bytes.TrimLeft(x.body, " \t\r\n"), []byte("["))
	if many {
		if err := decode(x.body, &in); err != nil {
			return err
		}
		if len(in) == 0 {
			return invalid("", faultRequired, "The list is empty.")
		}
	} else {
		in = make([]client.EventRequest, 1)
		if err := decode(x.body, &in[0]); err != nil {
			return err
		}
	}
	var f faults
	specs := make([]inventory.EventSpec, len(in))
	for i := range in {
		at := ""
		if many {
			at = "/" + strconv.Itoa(i)
		}
		specs[i] = specOf(&f, at, &in[i])
	}
	if err := f.err(); err != nil {
		return err
	}
	show := func(made []*inventory.EventView) rendered {
		if many {
			return rendered{status: http.StatusCreated, value: listOf(made, "", eventOf)}
		}
		return rendered{
			status: http.StatusCreated, location: pathEvents + "/" + made[0].Event.ID, value: eventOf(made[0]),
		}
	}
	return write(x, r, show, func(once *inventory.Once) ([]*inventory.EventView, error) {
		return s.service.CreateEvents(r.Context(), x.caller, specs, many, once)
	})
}

// Spec translates an event as POST /v1/events does, for files that hold one. Refusals: Invalid.
func Spec(in *client.EventRequest) (inventory.EventSpec, error) {
	var f faults
	spec := specOf(&f, "", in)
	return spec, f.err()
}

// specOf translates one event; what is empty in the request is absent.
func specOf(f *faults, at string, in *client.EventRequest) inventory.EventSpec {
	spec := inventory.EventSpec{Fields: inventory.EventFields{
		Reference: in.Reference, Name: absent(in.Name), StartsAt: f.instant(at+"/starts_at", in.StartsAt),
		TimeZone: absent(in.TimeZone), Map: absent(in.Map), Currency: absent(in.Currency), Types: typesOf(f, at, in.TicketTypes),
	}}
	if in.Copy != nil {
		spec.Copy = *in.Copy
	}
	if in.Metadata != nil {
		spec.Fields.Metadata = &in.Metadata
	}
	saleOf(f, at, in.Sale, &spec.Fields)
	limitsOf(in.Limits, &spec.Fields)
	spec.Fields.SingleSeats = absent(in.SingleSeats)
	for i, rule := range in.Allocations {
		if rule.DryRun {
			f.add(at+"/allocations/"+strconv.Itoa(i)+"/dry_run", faultNotAllowed, "An event's own rules are not tried.")
		}
		spec.Rules = append(spec.Rules, ruleOf(rule))
	}
	for _, c := range in.Channels {
		spec.Channels = append(spec.Channels, inventory.ChannelSpec{ID: c.ID, Name: c.Name, Codes: c.AccessCodes})
	}
	return spec
}

// typesOf translates ticket types. One without a price is refused here, for to the inventory no
// price is 0, and that is a ticket for free.
func typesOf(f *faults, at string, types []client.TicketTypeRequest) []inventory.TicketType {
	if types == nil {
		return nil
	}
	out := make([]inventory.TicketType, len(types))
	for i, t := range types {
		out[i] = inventory.TicketType{ID: t.ID, Name: t.Name}
		if t.Price == nil {
			f.add(at+"/ticket_types/"+strconv.Itoa(i)+"/price", faultRequired, "A price is needed; 0 is for free.")
			continue
		}
		out[i].Price = *t.Price
	}
	return out
}

// saleOf sets the whole window: an end that is not given is open.
func saleOf(f *faults, at string, sale *client.SaleWindow, fields *inventory.EventFields) {
	if sale == nil {
		return
	}
	fields.SaleFrom, fields.SaleUntil = new(inventory.Instant), new(inventory.Instant)
	if from := f.instant(at+"/sale/starts_at", sale.StartsAt); from != nil {
		fields.SaleFrom = from
	}
	if until := f.instant(at+"/sale/ends_at", sale.EndsAt); until != nil {
		fields.SaleUntil = until
	}
}

func limitsOf(limits *client.LimitsRequest, fields *inventory.EventFields) {
	if limits == nil {
		return
	}
	fields.HoldSeconds, fields.HoldSecondsMax = limits.HoldSeconds, limits.HoldSecondsMax
	fields.UnitsPerHold, fields.UnitsPerBuyer = limits.UnitsPerHold, limits.UnitsPerBuyer
}

// showEvent is the answer to a change of an event.
func showEvent(v *inventory.EventView) rendered {
	return rendered{status: http.StatusOK, value: eventOf(v)}
}

func (s *Server) patchEvent(x *exchange, r *http.Request) error {
	var in client.EventPatch
	if err := decode(x.body, &in); err != nil {
		return err
	}
	var f faults
	fields := inventory.EventFields{
		Reference: in.Reference, Name: in.Name, StartsAt: f.instant("/starts_at", in.StartsAt), TimeZone: in.TimeZone,
		Map: in.Map, Currency: in.Currency, Types: typesOf(&f, "", in.TicketTypes), Metadata: in.Metadata,
		SingleSeats: in.SingleSeats,
	}
	saleOf(&f, "", in.Sale, &fields)
	limitsOf(in.Limits, &fields)
	if err := f.err(); err != nil {
		return err
	}
	return write(x, r, showEvent, func(once *inventory.Once) (*inventory.EventView, error) {
		return s.service.PatchEvent(r.Context(), x.caller, r.PathValue("event"), fields, once)
	})
}

// transition makes the handler of a verb of the life cycle.
func transition(verb string) func(*Server, *exchange, *http.Request) error {
	return func(s *Server, x *exchange, r *http.Request) error {
		if err := decodeOptional(x.body, &struct{}{}); err != nil {
			return err
		}
		return write(x, r, showEvent, func(once *inventory.Once) (*inventory.EventView, error) {
			return s.service.Transition(r.Context(), x.caller, r.PathValue("event"), verb, once)
		})
	}
}

// patchAllocations puts units into another channel, sells them as other ticket types or gives areas
// another capacity.
func (s *Server) patchAllocations(x *exchange, r *http.Request) error {
	var in client.AllocationRule
	if err := decode(x.body, &in); err != nil {
		return err
	}
	show := func(v *inventory.RepaintResult) rendered {
		return rendered{status: http.StatusOK, value: allocationResultOf(v, in.DryRun)}
	}
	return write(x, r, show, func(once *inventory.Once) (*inventory.RepaintResult, error) {
		return s.service.Repaint(r.Context(), x.caller, r.PathValue("event"), ruleOf(in), in.DryRun, once)
	})
}

// patchMap moves an event to another version of its map.
func (s *Server) patchMap(x *exchange, r *http.Request) error {
	var in client.MapPatch
	if err := decode(x.body, &in); err != nil {
		return err
	}
	if in.Map == "" {
		return invalid("/map", faultRequired, "")
	}
	show := func(v *inventory.RemapResult) rendered {
		return rendered{status: http.StatusOK, value: mapChangeOf(v, in.DryRun)}
	}
	return write(x, r, show, func(once *inventory.Once) (*inventory.RemapResult, error) {
		return s.service.Remap(r.Context(), x.caller, r.PathValue("event"), in.Map, in.DryRun, once)
	})
}

// putChannel creates or replaces a channel; the URL names it.
func (s *Server) putChannel(x *exchange, r *http.Request) error {
	var in client.ChannelRequest
	if err := decode(x.body, &in); err != nil {
		return err
	}
	id := r.PathValue("channel")
	if in.ID != "" && in.ID != id {
		return invalid("/id", faultInvalid, "The URL names another channel.")
	}
	c, err := s.service.PutChannel(r.Context(), x.caller, r.PathValue("event"),
		inventory.ChannelSpec{ID: id, Name: in.Name, Codes: in.AccessCodes})
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, channelOf(c))
}

func (s *Server) getLog(x *exchange, r *http.Request) error {
	p, err := page(r, isLogNumber)
	if err != nil {
		return err
	}
	v, err := s.service.Log(r.Context(), x.caller, r.PathValue("event"), p)
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, logOf(v))
}

func (s *Server) getReport(x *exchange, r *http.Request) error {
	v, err := s.service.Report(r.Context(), x.caller, r.PathValue("event"))
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, reportOf(v))
}
