// The playground's page: clicks for people, and looks four times a second.
'use strict';
const $ = id => document.getElementById(id);
const names = ['honest', 'slow', 'silent', 'liar'];
let order = '';
let clicks = 0;
let shown = '';

for (const id of ['provider', 'other'])
  for (const name of names) $(id).add(new Option(name, name));
$('provider').value = 'slow';

async function send(path, fields) {
  const answer = await fetch(path, { method: 'POST', body: new URLSearchParams(fields) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

function log(who, told) {
  const li = document.createElement('li');
  li.textContent = `${who} → ${told.job ? 'job ' + told.job + ': ' : ''}${told.text}`;
  $('log').append(li);
  $('log').scrollTop = $('log').scrollHeight;
}

async function click(provider, who) {
  const n = ++clicks;
  const told = await send('click', { order, provider, proven: $('proven').checked });
  log(`${who} ${n} (${provider})`, told);
  await look();
  return told;
}

async function decide(attempt, what) {
  log(`Operator: ${what}`, await send('decide', { attempt, what }));
  await look();
}

function fresh() {
  order = 'order-' + Date.now().toString(36).slice(-5);
  clicks = 0;
  shown = '';
  $('order').textContent = order;
  $('log').replaceChildren();
  return look();
}

function cell(tag, text, some) {
  const td = document.createElement(tag);
  td.textContent = text;
  if (some) td.className = 'some';
  if (tag === 'th') td.scope = 'row';
  return td;
}

// verdict says in a sentence what the books and the job come to.
function verdict(now) {
  const charged = names.reduce((n, name) => n + now.books[name].Executed, 0);
  if (now.status === 'completed' && charged === 0) return 'Completed, and nothing was charged: a provider has lied. No database can see that. Ask only who has proven itself.';
  if (charged > 1) return `Charged ${charged} times: somebody decided to go on beside a doubt. One result was kept; the other charge may have to be undone.`;
  if (now.status === 'unknown') return charged ? 'It was charged, which nobody here can know: so nobody else is asked until somebody knows or decides.' : 'Nobody knows whether it was charged: so nobody else is asked until somebody knows or decides.';
  if (charged === 1) return 'Charged once.';
  return 'Not charged.';
}

const decisions = { confirm: 'It happened', refute: 'It had no effect', detach: 'Go on beside it', cancel: 'It shall not win' };

function offers(now) {
  const all = [];
  for (const a of now.open) {
    const p = document.createElement('p');
    p.textContent = a.label + ' You are the operator:';
    const row = document.createElement('div');
    row.className = 'buttons';
    for (const [what, words] of Object.entries(decisions)) {
      if (what === 'detach' && !a.detach) continue;
      const b = document.createElement('button');
      b.type = 'button';
      b.textContent = words;
      b.addEventListener('click', () => decide(a.id, what));
      row.append(b);
    }
    const link = document.createElement('a');
    link.href = 'console/jobs/' + now.job;
    link.textContent = 'or decide in the console';
    row.append(link);
    all.push(p, row);
  }
  return all;
}

async function look() {
  const asked = order;
  const answer = await fetch('live?order=' + encodeURIComponent(asked));
  if (!answer.ok || asked !== order) return null;
  const now = await answer.json();
  if (asked !== order) return null;
  $('books').tBodies[0].replaceChildren(...names.map(name => {
    const tr = document.createElement('tr');
    const b = now.books[name];
    tr.append(cell('th', name), cell('td', b.Asked, b.Asked), cell('td', b.Executed, b.Executed));
    return tr;
  }));
  const said = verdict(now);
  if ($('verdict').textContent !== said) $('verdict').textContent = said;
  if ($('status').textContent !== now.status) {
    $('status').textContent = now.status;
    $('status').className = now.status ? 'badge ' + now.status : '';
  }
  // Buttons stay where they are under a finger: they change with the attempts alone.
  const open = JSON.stringify(now.open);
  if (shown !== open) {
    shown = open;
    $('operator').replaceChildren(...offers(now));
  }
  // The server has escaped it: see console.Timeline.
  if (now.timeline) $('timeline').innerHTML = now.timeline;
  else $('timeline').replaceChildren(Object.assign(document.createElement('p'), { className: 'muted', textContent: 'Nothing yet: click.' }));
  return now;
}

const wait = ms => new Promise(done => setTimeout(done, ms));

async function race() {
  $('race').disabled = true;
  try {
    await fresh();
    $('provider').value = 'slow';
    $('other').value = 'honest';
    $('proven').checked = false;
    await Promise.all([click('slow', 'Click'), click('slow', 'Click')]);
    await wait(1500);
    await click('honest', 'Fallback');
    await wait(1500);
    const now = await look();
    await decide(now.open[0].id, 'detach');
    await wait(500);
    await click('honest', 'Fallback');
  } finally {
    $('race').disabled = false;
  }
}

$('click').addEventListener('click', () => click($('provider').value, 'Click'));
$('double').addEventListener('click', () => Promise.all([click($('provider').value, 'Click'), click($('provider').value, 'Click')]));
$('fallback').addEventListener('click', () => click($('other').value, 'Fallback'));
$('new').addEventListener('click', fresh);
$('race').addEventListener('click', race);
fresh();
setInterval(() => look().catch(() => {}), 250);
