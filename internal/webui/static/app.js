// The page asks the query API and shows what it says. Text goes in as text, never
// as markup: names come from task definitions that anybody may have written.
const $ = (id) => document.getElementById(id);
const every = 2000;
const tags = new Map(); // path → {etag, doc}
let open = ''; // the card that is looked at
let only = 'all'; // which cards are shown

function el(name, props = {}, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(props)) {
    if (k === 'class') e.className = v; else if (k.startsWith('aria-')) e.setAttribute(k, v); else e[k] = v;
  }
  e.append(...children);
  return e;
}

// ask reads a document; an unchanged one costs no body.
async function ask(path) {
  const known = tags.get(path);
  const resp = await fetch(path, { headers: known ? { 'If-None-Match': known.etag } : {} });
  if (resp.status === 304) return known.doc;
  const doc = await resp.json();
  if (!resp.ok) throw new Error(doc.detail || resp.statusText);
  tags.set(path, { etag: resp.headers.get('ETag'), doc });
  return doc;
}

async function pages(path, key) {
  const out = [];
  let cursor = '';
  do {
    const page = await ask(`${path}${path.includes('?') ? '&' : '?'}limit=200&cursor=${encodeURIComponent(cursor)}`);
    out.push(...page[key]);
    cursor = page.nextCursor || '';
  } while (cursor);
  return out;
}

const last = (arn) => arn.slice(arn.lastIndexOf('/') + 1);
const short = (uuid) => uuid.slice(0, 12);
// brief shows the ARNs of a sentence by the ends that the tables show.
const brief = (text) => text.replace(/arn:[a-z-]*:ecs:[^ ,;)"]*\/([^ ,;)"/]+)/g, (arn, id) => (arn.includes(':task-definition/') ? id : id.slice(0, 8)));
const ago = (from, to) => {
  const m = Math.max(0, Math.round((to - from) / 60000));
  return m < 60 ? `${m} min` : m < 2880 ? `${Math.round(m / 60)} h` : `${Math.round(m / 1440)} d`;
};

function cell(host, d, broken) {
  const over = d.computePercent > 100;
  const b = el('button', {
    class: ['cell', over && 'over', d.mode === 'dedicated' && 'whole', broken.has(d.uuid) && 'broken'].filter(Boolean).join(' '),
    type: 'button', 'aria-pressed': String(d.uuid === open), title: `${d.uuid}: ${d.heldMiB} of ${d.totalMiB ?? '?'} MiB held, ${d.computePercent} % promised`,
    onclick: () => { open = d.uuid; show(); $('card-title').focus(); },
  }, el('b', {}, `${d.computePercent} %`), el('progress', { max: d.totalMiB || 1, value: Math.min(d.heldMiB, d.totalMiB || 1), 'aria-label': 'memory held' }),
  el('small', {}, d.mode === 'idle' ? 'idle' : `${d.clients} on it`));
  b.dataset.gpu = d.uuid;
  return b;
}

// wanted tells which cards the filter shows.
const wanted = {
  all: () => true,
  starved: (h, d) => d.computePercent > 100,
  full: (h, d) => d.totalMiB && d.heldMiB >= 0.9 * d.totalMiB,
  broken: (h, d, broken) => broken.has(d.uuid),
  ill: (h) => !['healthy', 'unknown', undefined].includes(levelOf(h)),
};

const levelOf = (h) => state.health.get(h.ec2InstanceId)?.level;

function fleet(hosts, findings) {
  const broken = new Set(findings.filter((f) => f.severity === 'error').map((f) => f.subject));
  const focused = document.activeElement?.dataset?.gpu;
  let cards = 0;
  const parts = [];
  for (const h of hosts) {
    const shown = h.devices.filter((d) => wanted[only](h, d, broken));
    if (!shown.length) continue;
    cards += shown.length;
    const level = levelOf(h) || 'unknown';
    const why = (state.health.get(h.ec2InstanceId)?.reasons || []).map((r) => r.token).join(', ');
    parts.push(el('div', { class: h.status === 'ACTIVE' ? 'host' : 'host gone' },
      el('h3', {}, el('span', { class: `level ${level}`, title: why || level }, level), ` ${h.ec2InstanceId || last(h.containerInstanceArn)} · ${h.instanceType || '?'}${h.status === 'ACTIVE' ? '' : ' · ' + h.status}`),
      why ? el('p', { class: 'why' }, why) : '',
      el('div', { class: 'cells' }, ...shown.map((d) => cell(h, d, broken)))));
  }
  $('map').replaceChildren(...parts);
  $('shown').textContent = only === 'all' ? '' : `${cards} cards`;
  if (focused) document.querySelector(`[data-gpu="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

function rows(body, items, cells) {
  $(body).replaceChildren(...items.map((i) => el('tr', {}, ...cells(i).map(([text, cls = '']) => el('td', { class: cls }, text)))));
}

function card(hosts) {
  for (const h of hosts) {
    const d = h.devices.find((x) => x.uuid === open);
    if (!d) continue;
    $('card').hidden = false;
    $('card-title').textContent = d.uuid;
    $('card-facts').textContent = `On ${h.ec2InstanceId || last(h.containerInstanceArn)} (${h.instanceType || '?'}, ${h.status}), ${d.mode}: ${d.heldMiB} of ${d.totalMiB ?? '?'} MiB held, ` +
      `compute promised ${d.computePercent} %, ${d.clients} of 48 clients. What stands here shares one fate.`;
    $('card-findings').replaceChildren(...state.findings.filter((f) => f.subject === d.uuid).map((f) => el('li', { class: f.severity }, `${f.kind}: ${brief(f.reason)}`)));
    if (plotted !== open) { plotted = open; plot(h, d).catch(() => { $('plot').hidden = true; }); }
    rows('tenants', d.shares.filter((s) => s.state !== 'released'), (s) => [[last(s.taskArn).slice(0, 8), 'id'], [s.container], [s.service || '–'], [s.tier],
      [s.memoryMiB == null ? '?' : String(s.memoryMiB), 'n'], [`${s.computePercent} %`, 'n'], [s.state]]);
    return;
  }
  $('card').hidden = true;
  plotted = '';
}

// plot draws the last hour of a card from the journal: memory held, of its total,
// and compute promised, of 400 %.
let plotted = '';
const points = 30;
async function plot(h, d) {
  const base = `/v1/clusters/${encodeURIComponent($('cluster').value)}/hosts/${encodeURIComponent(last(h.containerInstanceArn))}/history`;
  const then = await Promise.all([...Array(points).keys()].map((i) => ask(`${base}?at=${2 * (points - 1 - i)}m`).catch(() => null)));
  const at = then.map((t) => t?.host.devices.find((x) => x.uuid === d.uuid));
  const line = (id, value, most) => {
    $(id).setAttribute('points', at.flatMap((x, i) => (x ? [`${(600 * i) / (points - 1)},${118 - 116 * Math.min(1, value(x) / most)}`] : [])).join(' '));
  };
  line('line-held', (x) => x.heldMiB, d.totalMiB || 1);
  line('line-over', (x) => x.computePercent, 400);
  $('plot-title').textContent = 'The last hour: memory held, of all there is, and compute promised, of 400 %.';
  $('plot').hidden = open !== d.uuid;
}

// cases shows what is done about sick hosts, where the API tells.
function cases(doc) {
  $('cases-part').hidden = !doc?.cases;
  if (!doc?.cases) return;
  $('cases-mode').textContent = doc.paused ? `Paused. Mode ${doc.mode}.` : `Mode ${doc.mode}${doc.mode === 'observe' ? ': nothing is done, this is what would be.' : '.'}`;
  const now = Date.now();
  rows('cases', doc.cases.length ? doc.cases : [null], (c) => (c ? [[c.ec2InstanceId, 'id'], [c.cause], [c.state], [c.action || '–'],
    [c.blocker ? `${c.blocker}: ${c.blockerDetail || ''}` : c.waiting || c.why || ''], [ago(Date.parse(c.since), now), 'n']] : [['None.'], [''], [''], [''], [''], ['']]));
}

let state = { hosts: [], findings: [], health: new Map() };
function show() {
  fleet(state.hosts, state.findings);
  card(state.hosts);
  if (!$('break').hidden && document.activeElement !== $('fault-host')) faultHosts();
}

async function refresh() {
  const base = `/v1/clusters/${encodeURIComponent($('cluster').value)}`;
  const [summary, hosts, { findings }, health, work] = await Promise.all([ask(`${base}/summary`), pages(`${base}/hosts`, 'hosts'), ask(`${base}/findings`),
    pages(`${base}/health`, 'health').catch(() => []), ask(`${base}/cases`).catch(() => null)]);
  state = { hosts: hosts.filter((h) => h.devices.length && h.status !== 'INACTIVE'), findings, health: new Map(health.map((v) => [v.ec2InstanceId, v])) };
  const percent = summary.totalMiB ? Math.round(100 * summary.heldMiB / summary.totalMiB) : 0;
  $('summary').textContent = `${summary.hosts} hosts, ${summary.gpus} GPUs: ${summary.sharedGpus} shared, ${summary.dedicatedGpus} whole, ${summary.idleGpus} idle. ` +
    `${summary.tasks} tasks hold ${percent} % of the memory; sharing saves ${summary.gpusSaved} GPUs.`;
  show();
  cases(work);
  rows('findings', findings.length ? findings : [{ severity: '', kind: 'None.', subject: '', reason: '' }],
    (f) => [[f.severity, f.severity], [f.kind], [short(last(f.subject)), 'id'], [brief(f.reason)]]);
}

async function start() {
  const { clusters } = await ask('/v1/clusters');
  $('cluster').replaceChildren(...clusters.map((c) => el('option', { value: c.name }, c.name)));
  $('cluster').onchange = () => { open = ''; refresh().catch(say); };
  if (!clusters.length) throw new Error('The ledger has no cluster yet.');
  await refresh();
  offerFaults().catch(() => {});
}

// What breaks the fleet is there in a local run only.
async function offerFaults() {
  const resp = await fetch('/local/inject');
  if (!resp.ok) return;
  const { kinds } = await resp.json();
  $('fault').replaceChildren(...kinds.map((k) => el('option', { value: k }, k)));
  $('break').hidden = false;
  $('inject').onclick = async () => {
    const kind = $('fault').value;
    const body = { kind, host: $('fault-host').value, xid: kind === 'xid' ? 79 : 0, for: kind === 'event-loss' ? 300e9 : 0 };
    const answer = await (await fetch('/local/inject', { method: 'POST', headers: { 'X-Bulkhead-Local': '1' }, body: JSON.stringify(body) })).json();
    $('injected').textContent = answer.error || answer.said;
  };
}

function faultHosts() {
  const chosen = $('fault-host').value;
  $('fault-host').replaceChildren(el('option', { value: '' }, 'the busiest host'), ...state.hosts.map((h) => el('option', { value: h.ec2InstanceId }, h.ec2InstanceId)));
  $('fault-host').value = chosen;
}

for (const b of document.querySelectorAll('[data-show]')) {
  b.onclick = () => {
    only = b.dataset.show;
    for (const x of document.querySelectorAll('[data-show]')) x.setAttribute('aria-pressed', String(x === b));
    show();
  };
}

const say = (e) => { $('summary').textContent = e.message; };
$('close').onclick = () => { open = ''; show(); };
document.addEventListener('keydown', (e) => { if (e.key === 'Escape' && open) { open = ''; show(); } });

let started = false;
async function loop() {
  try {
    if (started) await refresh(); else { await start(); started = true; }
  } catch (e) { say(e); }
  setTimeout(loop, document.hidden ? 5 * every : every);
}
loop();
