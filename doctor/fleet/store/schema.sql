-- Tables and views of a fleet's database. Those of docs/fleet.md are as stable as the JSON: run, node, gpu, fact,
-- figure, link, finding, remark, section, duplicate, refused. The others may change with user_version.

create table run (
  started real, ended real, source text, tool text, matrix text, requested integer, judged_here integer,
  judged_there integer
);

-- The secret behind the pseudonyms of --mask-nodes: the same in all reports of this database, and in no other.
create table mask as select randomblob(32) as key;

create table text (id integer primary key, value text not null);

create table node (
  id integer primary key, node text not null, state text not null, reason text not null,
  model text, gpus integer, memory_gib integer, arch text, driver text,
  verdict text not null, received real not null, generated_at text not null, clock_off_s real,
  tool text not null, matrix text not null, judged text not null
);

create table gpu_row (
  node integer, gpu integer, uuid text, pci text, model integer, memory_mib integer, vbios integer, power_limit_w real,
  link integer, temperature_c integer, power_w real,
  primary key (node, gpu)
) without rowid;

-- Facts that are the same on many nodes (or GPUs) stand once: a set of facts has its rows in set_fact.
create table fact_set (id integer primary key, hash blob not null unique);
create table set_fact (facts integer, path integer, value integer, primary key (facts, path))
  without rowid;
-- Lists of such sets: of all reports that have the same; gpu -1 for the node's own.
create table report_fact (list integer, gpu integer, facts integer, primary key (list, gpu, facts)) without rowid;

-- One row for the figures of a node: value is a JSON array, and what stands where in it is the same for many nodes.
create table figure_row (
  node integer, repeat integer, slots integer, value text not null,
  primary key (node, repeat)
);
create table figure_slot (
  list integer, position integer, figure integer, gpu integer, own integer, unit integer,
  primary key (list, position)
) without rowid;

create table finding_row (
  node integer, number integer, id integer, status integer, layer integer, subject text, title integer, cause integer,
  users integer, fix integer,
  primary key (node, number)
) without rowid;
create table fix (id integer primary key, hash blob not null unique, content text not null);

-- content: zlib of the JSON; with base another section's JSON is the preset dictionary (its last 32,768 bytes).
-- Where the JSON has \0N; stands UUID number N of a report, where it has \0# the report's next number: own has them,
-- the UUIDs, the numbers (both between blanks) and the report's two targets with \0 between the three. Of the section
-- rates, \0 is the next number of the node's row of figures.
create table section (id integer primary key, hash blob not null unique, base integer, content blob not null);
create table report_section (list integer, part integer, section integer, primary key (list, part)) without rowid;
create table report (node integer primary key, sections integer, facts integer, own blob not null);

-- What must be said of a node beside its findings. kind: skipped (a check that --skip left out), not-requested,
-- answered-as (requested under that name), silent-before (why it had not been examined before it answered).
create table remark_row (node integer, kind text not null, detail integer not null);

create table duplicate (kind text not null, nodes text not null, detail text not null);
create table refused (file text not null, line integer not null, reason text not null);

-- Two nodes that measured the link between them. turn: 1, in the fourth round 1 and 2; value is null without a number,
-- and then reason says why. switch: '' where it is not known.
create table link (
  round integer not null, turn integer not null, node text not null, partner text not null, switch text not null,
  partner_switch text not null, figure text not null, value real, unit text not null, reason text not null
);

create view gpu as
  select n.node as node, g.gpu as gpu, m.value as model, g.uuid as uuid, g.pci as pci, g.memory_mib as memory_mib,
    v.value as vbios, g.power_limit_w as power_limit_w, l.value as link, g.temperature_c as temperature_c,
    g.power_w as power_w
  from gpu_row g join node n on n.id = g.node left join text m on m.id = g.model left join text v on v.id = g.vbios
    left join text l on l.id = g.link;

create view fact as
  select n.node as node, nullif(f.gpu, -1) as gpu, p.value as path, v.value as value
  from report r join node n on n.id = r.node join report_fact f on f.list = r.facts
    join set_fact s on s.facts = f.facts join text p on p.id = s.path left join text v on v.id = s.value;

-- Cross joins: each number is read once, then looked up.
create view figure as
  select n.node as node, case when s.own then null else s.gpu end as gpu, t.value as figure, j.value as value,
    u.value as unit, r.repeat as repeat
  from node n cross join figure_row r on r.node = n.id cross join json_each(r.value) j
    cross join figure_slot s on s.list = r.slots and s.position = j.key join text t on t.id = s.figure
    join text u on u.id = s.unit;

create view finding as
  select n.node as node, i.value as id, s.value as status, l.value as layer, f.subject as subject, t.value as title,
    c.value as cause, f.users as users, x.content as fix
  from finding_row f join node n on n.id = f.node join text i on i.id = f.id join text s on s.id = f.status
    join text l on l.id = f.layer join text t on t.id = f.title left join text c on c.id = f.cause
    left join fix x on x.id = f.fix;

create view remark as
  select n.node as node, r.kind as kind, t.value as detail
  from remark_row r join node n on n.id = r.node join text t on t.id = r.detail;
