-- One row for each event, in a partition for each tournament: an old tournament can be detached, dumped or dropped whole.
create table dgt2mqtt.event (
    tournament text not null,
    -- Who told it, of which board, and the number there: together they name an event for ever, as `id` does.
    gateway text not null,
    board text not null,
    seq bigint not null,
    id text not null,
    type text not null,
    game integer,
    -- Of an irregularity.
    kind text,
    offender text,
    ply integer,
    certainty text,
    -- The id of the irregularity that the event is about.
    concerns text,
    -- The person whose command caused it.
    by text,
    -- Seconds of the gateway's clock: when it was decided, and when the act happened, where that differs.
    t double precision,
    at double precision,
    -- The gateway's wall clock, where it had one.
    time timestamptz,
    -- When the archive wrote it down, and whether it had to ask for it.
    recorded timestamptz not null default clock_timestamp(),
    asked boolean not null,
    -- True for a short form that the whole will replace.
    abridged boolean not null,
    -- The event as it was published.
    payload jsonb not null,
    -- The number goes before the tournament, so that an event is found whichever tournament it was kept under.
    primary key (gateway, board, seq, tournament)
) partition by list (tournament);

create index event_game on dgt2mqtt.event (gateway, board, game, type);
create index event_type on dgt2mqtt.event (type, kind);
create index event_concerns on dgt2mqtt.event (concerns) where concerns is not null;

-- Numbers that no gateway tells any more, so that nobody asks for them again.
create table dgt2mqtt.hole (
    gateway text not null,
    board text not null,
    first bigint not null,
    last bigint not null,
    why text not null,
    recorded timestamptz not null default clock_timestamp(),
    primary key (gateway, board, first, last)
);

-- Each game with its players, its round and its last result.
create view dgt2mqtt.game as
select s.tournament, s.gateway, s.board, s.game, s.white, s.black, s.event_name, s.round, s.started,
       r.result, r.reason, r.ended
from (
    select distinct on (tournament, gateway, board, game)
           tournament, gateway, board, game,
           payload ->> 'white' as white, payload ->> 'black' as black,
           payload ->> 'event' as event_name, (payload ->> 'round')::integer as round,
           coalesce(time, recorded) as started
    from dgt2mqtt.event
    where type = 'game_started' and game is not null
    order by tournament, gateway, board, game, seq
) s
left join lateral (
    -- A result that was taken back is none.
    select case when e.type = 'game_ended' then e.payload ->> 'result' end as result,
           case when e.type = 'game_ended' then e.payload ->> 'reason' end as reason,
           case when e.type = 'game_ended' then coalesce(e.time, e.recorded) end as ended
    from dgt2mqtt.event e
    where e.tournament = s.tournament and e.gateway = s.gateway and e.board = s.board and e.game = s.game
      and e.type in ('game_ended', 'game_resumed')
    order by e.seq desc
    limit 1
) r on true;

-- Each irregularity with its game, how long it took to be seen, how it ended and what the arbiter did.
create view dgt2mqtt.irregularity as
select i.tournament, i.gateway, i.board, i.game, g.round, g.white, g.black, i.seq, i.id, i.kind, i.offender, i.ply,
       i.certainty, i.time, i.t - coalesce(i.at, i.t) as late_seconds,
       i.payload -> 'ruling' -> 'penalty' ->> 'kind' as advised,
       e.how, e.by as ended_by, n.penalty, n.note, n.by as noted_by
from dgt2mqtt.event i
left join dgt2mqtt.game g using (tournament, gateway, board, game)
left join lateral (
    -- The last word on its end; null while it is open. One that was reopened and is not open ended otherwise before.
    select case when w.type = 'irregularity_resolved' then w.payload ->> 'how'
                when w.payload ->> 'open' = 'false' then 'ended' end as how,
           w.by
    from dgt2mqtt.event w
    where w.concerns = i.id and w.tournament = i.tournament
      and w.type in ('irregularity_resolved', 'irregularity_reopened')
    order by w.seq desc
    limit 1
) e on true
left join lateral (
    select c.payload -> 'penalty' ->> 'kind' as penalty, c.payload ->> 'note' as note, c.by
    from dgt2mqtt.event c
    where c.concerns = i.id and c.tournament = i.tournament and c.type = 'case_noted'
    order by c.payload -> 'penalty' ->> 'kind' is null, c.seq desc
    limit 1
) n on true
where i.type = 'irregularity';
