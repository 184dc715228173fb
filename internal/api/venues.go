package api

import (
	"net/http"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
)

func (s *Server) listVenues(x *exchange, r *http.Request) error {
	p, err := page(r, idsOf(inventory.PrefixVenue))
	if err != nil {
		return err
	}
	venues, next, err := s.service.Venues(r.Context(), x.caller, p)
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, listOf(venues, next, venueOf))
}

func (s *Server) getVenue(x *exchange, r *http.Request) error {
	v, err := s.service.Venue(r.Context(), x.caller, r.PathValue("venue"))
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, venueOf(v))
}

func venueFields(x *exchange) (inventory.VenueFields, error) {
	var in client.VenueRequest
	if err := decode(x.body, &in); err != nil {
		return inventory.VenueFields{}, err
	}
	return inventory.VenueFields{Reference: in.Reference, Name: in.Name, Metadata: in.Metadata}, nil
}

func (s *Server) createVenue(x *exchange, r *http.Request) error {
	fields, err := venueFields(x)
	if err != nil {
		return err
	}
	show := func(v *inventory.Venue) rendered {
		return rendered{status: http.StatusCreated, location: pathVenues + "/" + v.ID, value: venueOf(v)}
	}
	return write(x, r, show, func(once *inventory.Once) (*inventory.Venue, error) {
		return s.service.CreateVenue(r.Context(), x.caller, fields, once)
	})
}

func (s *Server) patchVenue(x *exchange, r *http.Request) error {
	fields, err := venueFields(x)
	if err != nil {
		return err
	}
	show := func(v *inventory.Venue) rendered { return rendered{status: http.StatusOK, value: venueOf(v)} }
	return write(x, r, show, func(once *inventory.Once) (*inventory.Venue, error) {
		return s.service.PatchVenue(r.Context(), x.caller, r.PathValue("venue"), fields, once)
	})
}

func (s *Server) listMaps(x *exchange, r *http.Request) error {
	p, err := page(r, idsOf(inventory.PrefixMap))
	if err != nil {
		return err
	}
	maps, next, err := s.service.Maps(r.Context(), x.caller, r.PathValue("venue"), p)
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, listOf(maps, next, mapOf))
}

// createMap adds a version of a venue's map. The drawing is read by package seatmap, as strictly as
// every other body is read here.
func (s *Server) createMap(x *exchange, r *http.Request) error {
	show := func(m *inventory.MapVersion) rendered {
		return rendered{status: http.StatusCreated, location: pathVenues + "/" + m.Venue + "/maps/" + m.ID, value: mapOf(m)}
	}
	return write(x, r, show, func(once *inventory.Once) (*inventory.MapVersion, error) {
		return s.service.CreateMap(r.Context(), x.caller, r.PathValue("venue"), x.body, once)
	})
}

// getMap gives the drawing of a version.
func (s *Server) getMap(x *exchange, r *http.Request) error {
	m, data, err := s.service.Map(r.Context(), x.caller, r.PathValue("venue"), r.PathValue("map"))
	if err != nil {
		return err
	}
	return s.replyMap(x, r, m.ID, data, mapCachePrivate)
}
