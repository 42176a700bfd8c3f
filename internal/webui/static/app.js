// The page asks the query API and shows what it says. Text goes in as text, never
// as markup: names come from task definitions that anybody may have written.
const $ = (id) => document.getElementById(id);
const every = 2000;
const tags = new Map(); // path → {etag, doc}
let open = ''; // the card that is looked at

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

function fleet(hosts, findings) {
  const broken = new Set(findings.filter((f) => f.severity === 'error').map((f) => f.subject));
  const focused = document.activeElement?.dataset?.gpu;
  $('map').replaceChildren(...hosts.map((h) => el('div', { class: h.status === 'ACTIVE' ? 'host' : 'host gone' },
    el('h3', {}, `${h.ec2InstanceId || last(h.containerInstanceArn)} · ${h.instanceType || '?'}${h.status === 'ACTIVE' ? '' : ' · ' + h.status}`),
    el('div', { class: 'cells' }, ...h.devices.map((d) => cell(h, d, broken))))));
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
    rows('tenants', d.shares.filter((s) => s.state !== 'released'), (s) => [[last(s.taskArn).slice(0, 8), 'id'], [s.container], [s.service || '–'], [s.tier],
      [s.memoryMiB == null ? '?' : String(s.memoryMiB), 'n'], [`${s.computePercent} %`, 'n'], [s.state]]);
    return;
  }
  $('card').hidden = true;
}

let state = { hosts: [], findings: [] };
function show() { fleet(state.hosts, state.findings); card(state.hosts); }

async function refresh() {
  const base = `/v1/clusters/${encodeURIComponent($('cluster').value)}`;
  const [summary, hosts, { findings }] = await Promise.all([ask(`${base}/summary`), pages(`${base}/hosts`, 'hosts'), ask(`${base}/findings`)]);
  state = { hosts: hosts.filter((h) => h.devices.length && h.status !== 'INACTIVE'), findings };
  const percent = summary.totalMiB ? Math.round(100 * summary.heldMiB / summary.totalMiB) : 0;
  $('summary').textContent = `${summary.hosts} hosts, ${summary.gpus} GPUs: ${summary.sharedGpus} shared, ${summary.dedicatedGpus} whole, ${summary.idleGpus} idle. ` +
    `${summary.tasks} tasks hold ${percent} % of the memory; sharing saves ${summary.gpusSaved} GPUs.`;
  show();
  rows('findings', findings.length ? findings : [{ severity: '', kind: 'None.', subject: '', reason: '' }],
    (f) => [[f.severity, f.severity], [f.kind], [short(last(f.subject)), 'id'], [f.reason]]);
}

async function start() {
  const { clusters } = await ask('/v1/clusters');
  $('cluster').replaceChildren(...clusters.map((c) => el('option', { value: c.name }, c.name)));
  $('cluster').onchange = () => { open = ''; refresh().catch(say); };
  if (!clusters.length) throw new Error('The ledger has no cluster yet.');
  await refresh();
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
