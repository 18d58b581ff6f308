// What a page must be for keyboards, screen readers and small screens. Returns what is wrong.
(() => {
  const wrong = [];
  const all = (css, from = document) => [...from.querySelectorAll(css)];
  const say = (what, el) => wrong.push(what + ': ' + (el ? el.outerHTML.slice(0, 160) : ''));
  const shown = el => el.getClientRects().length > 0 && getComputedStyle(el).visibility !== 'hidden';
  if (!document.documentElement.lang) say('no language');
  if (!document.title.trim()) say('no title');
  if (all('main').length !== 1) say('not one main');
  if (all('h1').length !== 1) say('not one h1');
  let level = 0;
  for (const h of all('h1,h2,h3,h4,h5,h6')) {
    const n = Number(h.tagName[1]);
    if (n > level + 1) say('a heading is skipped before', h);
    if (!h.innerText.trim()) say('an empty heading', h);
    level = n;
  }
  const ids = new Set();
  for (const el of all('[id]')) {
    if (ids.has(el.id)) say('an ID twice', el);
    ids.add(el.id);
  }
  for (const attr of ['aria-labelledby', 'aria-describedby', 'for'])
    for (const el of all(`[${attr}]`))
      for (const id of el.getAttribute(attr).split(/\s+/)) if (!ids.has(id)) say(attr + ' leads nowhere', el);
  for (const el of all('a[href^="#"]')) if (!ids.has(el.getAttribute('href').slice(1))) say('a link leads nowhere', el);
  for (const el of all('input:not([type=hidden]),textarea,select'))
    if (!(el.labels && el.labels.length && el.labels[0].innerText.trim()) && !el.getAttribute('aria-label')) say('no label', el);
  for (const el of all('a,button,summary')) if (!el.innerText.trim() && !el.getAttribute('aria-label') && shown(el)) say('no words', el);
  for (const el of all('svg')) {
    if (el.parentElement.closest('svg') || el.getAttribute('aria-hidden') === 'true') continue;
    if (el.getAttribute('role') !== 'img' || !el.querySelector('title') || !el.getAttribute('aria-labelledby')) say('a picture without words', el);
  }
  for (const el of all('img')) if (!el.hasAttribute('alt')) say('no alt', el);
  for (const el of all('table')) {
    if (!el.caption || !el.caption.textContent.trim()) say('a table without caption', el);
    if (!el.querySelector('thead th[scope=col]')) say('a table without headers', el);
  }
  for (const el of all('fieldset')) if (!el.querySelector('legend')) say('a group without legend', el);
  for (const el of all('nav')) if (!el.getAttribute('aria-label')) say('a nav without a name', el);
  for (const el of all('[tabindex]')) if (Number(el.getAttribute('tabindex')) > 0) say('a tabindex of its own', el);
  if (all('[style],style,script:not([src])').length) say('inline', all('[style],style,script:not([src])')[0]);
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) say('it scrolls sideways: ' + document.documentElement.scrollWidth + ' of ' + width,
    all('body *').find(el => el.getBoundingClientRect().right > width + 1 && !el.closest('.scroll') && !el.closest('.skip')));
  // Contrast: 4.5 to 1 for text, 3 to 1 for large text.
  const parse = c => { const m = c.match(/[\d.]+/g); return m ? m.map(Number) : null; };
  const lum = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
  const ground = el => {
    for (; el; el = el.parentElement) {
      const c = parse(getComputedStyle(el).backgroundColor);
      if (c && (c.length < 4 || c[3] === 1)) return c;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = walker.nextNode(); n; n = walker.nextNode()) {
    const el = n.parentElement;
    if (!n.data.trim() || !shown(el) || el.closest('title,desc,.sr,.skip,script')) continue;
    const style = getComputedStyle(el);
    const color = parse(el.closest('svg') ? style.fill : style.color);
    const [a, b] = [lum(color), lum(ground(el))].sort((x, y) => y - x);
    const px = parseFloat(style.fontSize), large = px >= 24 || px >= 18.66 && Number(style.fontWeight) >= 700;
    if ((a + .05) / (b + .05) < (large ? 3 : 4.5)) say('contrast ' + ((a + .05) / (b + .05)).toFixed(2), el);
  }
  return wrong;
})()
