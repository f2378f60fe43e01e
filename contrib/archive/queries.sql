-- Queries for the database of `dgt2mqtt archive` (docs/archive.md). All at once:
--   psql DATABASE -f queries.sql
-- Each covers every tournament that was kept; add `where tournament = 'Spring Open 2026'` for one.

-- illegal_moves_by_round: how many illegal moves were completed, and how many of them an arbiter dismissed.
select tournament, round, count(*) as illegal_moves,
       count(*) filter (where how = 'dismissed') as dismissed,
       count(distinct (gateway, board, game)) as games
from dgt2mqtt.irregularity
where kind = 'illegal_move'
group by tournament, round
order by tournament, round;

-- irregularities_by_round: what happened in each round, the most frequent first.
select tournament, round, kind, certainty, count(*) as times
from dgt2mqtt.irregularity
group by tournament, round, kind, certainty
order by tournament, round, times desc, kind, certainty;

-- how_late: seconds from the act (the press that completed it) until the arbiter heard of it.
select tournament, kind, count(*) as times,
       round(percentile_cont(0.5) within group (order by late_seconds)::numeric, 2) as median,
       round(percentile_cont(0.95) within group (order by late_seconds)::numeric, 2) as of_95_in_100,
       round(max(late_seconds)::numeric, 2) as longest
from dgt2mqtt.irregularity
group by tournament, kind
order by tournament, longest desc, kind;

-- by_arbiter: what each arbiter decided of irregularities: how they ended, and the penalties that were noted.
select tournament, by as arbiter,
       count(*) filter (where payload ->> 'how' = 'dismissed') as dismissed,
       count(*) filter (where payload ->> 'how' = 'stands') as stands,
       count(*) filter (where type = 'irregularity_reopened') as reopened,
       count(*) filter (where payload -> 'penalty' ->> 'kind' <> 'none') as penalties
from dgt2mqtt.event
where type in ('irregularity_resolved', 'irregularity_reopened', 'case_noted') and by is not null
group by tournament, by
order by tournament, by;

-- rulings: the penalty that was advised beside the one that was given, and how often they agree.
select tournament, kind, advised, penalty as given, count(*) as times
from dgt2mqtt.irregularity
where penalty is not null
group by tournament, kind, advised, penalty
order by tournament, kind, times desc, advised, penalty;

-- false_accusations: what was said and did not stay: dismissed by an arbiter, or replaced by a better explanation.
select tournament, round, gateway, board, game, ply, kind, offender, certainty, how, ended_by
from dgt2mqtt.irregularity
where how in ('dismissed', 'superseded')
order by tournament, round, gateway, board, seq;

-- still_open: irregularities on which nobody has ruled.
select tournament, round, gateway, board, game, ply, kind, offender, certainty, time
from dgt2mqtt.irregularity
where how is null
order by tournament, round, gateway, board, seq;

-- games_without_result: games that nobody ended, with their last half-move; a game of no half-moves was never begun.
select g.tournament, g.round, g.gateway, g.board, g.game, g.white, g.black, max(m.ply) as half_moves,
       max(coalesce(m.time, m.recorded)) as last_move
from dgt2mqtt.game g
join dgt2mqtt.event m using (tournament, gateway, board, game)
where coalesce(g.result, '*') = '*' and m.type = 'move'
group by g.tournament, g.round, g.gateway, g.board, g.game, g.white, g.black
order by g.tournament, g.round, g.gateway, g.board, g.game;

-- results_by_round: how the games ended, forfeits aside.
select tournament, round,
       count(*) filter (where result = '1-0') as white_won,
       count(*) filter (where result = '1/2-1/2') as drawn,
       count(*) filter (where result = '0-1') as black_won,
       count(*) filter (where result in ('+/-', '-/+', '-/-')) as forfeited,
       count(*) filter (where coalesce(result, '*') = '*') as without_result
from dgt2mqtt.game
group by tournament, round
order by tournament, round;

-- troubled_boards: boards that were away most often, the program's own doubts about their record, and events that no
-- journal has any more.
select e.tournament, e.gateway, e.board,
       count(*) filter (where e.type = 'board_disconnected') as away,
       count(*) filter (where e.type = 'clock_disconnected') as clock_away,
       count(*) filter (where e.type = 'moves_retracted') as taken_back,
       count(*) filter (where e.type = 'move' and e.payload ->> 'completed_by' = 'recovered') as recovered,
       count(*) filter (where e.type = 'notice') as notices,
       (select coalesce(sum(h.last - h.first + 1), 0) from dgt2mqtt.hole h
        where h.gateway = e.gateway and h.board = e.board) as lost
from dgt2mqtt.event e
group by e.tournament, e.gateway, e.board
order by away desc, lost desc, e.tournament, e.gateway, e.board;
