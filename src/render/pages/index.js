(() => {
  'use strict';
  const GROUP = 100;
  const list = document.getElementById('list'), heads = [...list.tHead.rows[0].cells];
  const filter = document.getElementById('filter'), count = document.getElementById('count'), state = document.getElementById('state');
  // Without subagents and other automatic sessions the page has no switch for them.
  const started = document.getElementById('started') ?? document.createElement('input');
  const total = list.rows.length - 1, first = heads.findIndex(head => head.ariaSort);
  const compare = new Intl.Collator(undefined, { numeric: true }).compare;
  for (const span of document.querySelectorAll('.working')) if (Date.now() - Date.parse(span.title) > 3600000) span.textContent = 'abandoned';
  const zone = document.getElementById('zone'), two = n => String(n).padStart(2, '0');
  if (zone) zone.textContent = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const time of document.querySelectorAll('time')) {
    const at = new Date(time.dateTime);
    time.title = `${at.toISOString().slice(0, -8).replace('T', ' ')} UTC`;
    time.textContent = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
  }
  const texts = new Map();
  let kept, sorted;

  const rows = () => kept ??= [...list.rows].slice(1);
  // Without the numbers: a search for 12 does not mean them.
  const textOf = row => {
    let text = texts.get(row);
    if (text === undefined) {
      text = [...row.cells].filter(cell => !cell.classList.contains('right')).map(cell => cell.textContent).join('\n').toLowerCase();
      texts.set(row, text);
    }
    return text;
  };
  const short = n => {
    let step = 0;
    for (; step < 4 && n >= (step ? 999.95 : 1000); step++) n /= 1000;
    return step ? (n < 1e6 ? n.toFixed(1) : n.toExponential(0).replace(/\+(?=.$)/, '+0')) + 'kMGT'[step - 1] : n.toFixed(0);
  };
  // Exact in the decimals of the page, so the sum is the page's in any order.
  const sum = (shown, column) => {
    let whole = 0, billionths = 0;
    for (const row of shown) {
      const n = Number(row.cells[column].dataset.v ?? 0);
      whole += Math.trunc(n);
      billionths += Math.floor((n - Math.trunc(n)) * 1e9 + 0.5);
    }
    return whole + billionths / 1e9;
  };
  const isStarted = row => row.className === 'started';
  // Like the page's totals.
  const sums = shown => {
    const tokens = sum(shown, 5), cost = sum(shown, 6), agents = shown.filter(isStarted).length;
    return [
      `${shown.length < total ? `${shown.length} of ` : total > 1 ? 'All ' : ''}${total} session${total === 1 ? '' : 's'}`,
      agents && `${agents} automatic`,
      tokens > 0 && isFinite(tokens) && `${short(tokens)} tokens`,
      cost >= 0.00005 && isFinite(cost) && `$${cost < 1e12 ? cost.toFixed(cost < 0.1 ? 4 : 2) : cost}`,
    ].filter(Boolean).join(', ');
  };
  // Only matching rows are in the table, in full groups: a browser skips groups out of view.
  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = (sorted ?? rows()).filter(row => words.every(word => textOf(row).includes(word)) && (!state.value || row.cells[8].textContent.trim() === state.value));
    const shown = found.filter(row => started.checked || !isStarted(row));
    [...list.tBodies].forEach((body, i) => body.replaceChildren(...shown.slice(i * GROUP, (i + 1) * GROUP)));
    count.textContent = sums(found);
  };
  const sort = (column, sign) => {
    const isNumber = 'n' in heads[column].dataset;
    const keys = new Map(rows().map(row => {
      const cell = row.cells[column];
      return [row, isNumber ? Number(cell.dataset.v ?? -Infinity) : cell.textContent];
    }));
    const order = isNumber ? (a, b) => (a > b) - (a < b) : compare;
    sorted = [...rows()].sort((a, b) => sign * order(keys.get(a), keys.get(b)));
    for (const head of heads) head.removeAttribute('aria-sort');
    heads[column].setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
  };

  // The address: #find=WORDS&state=STATE&subagents=shown&sort=COLUMN, with a minus if it descends, without parts that are unset.
  const names = heads.map(head => head.textContent.toLowerCase());
  const keep = () => {
    const address = new URLSearchParams(), at = heads.findIndex(head => head.ariaSort), isDown = heads[at].ariaSort === 'descending';
    if (filter.value.trim()) address.set('find', filter.value.trim());
    if (state.value) address.set('state', state.value);
    if (started.checked) address.set('subagents', 'shown');
    if (at !== first || !isDown) address.set('sort', (isDown ? '-' : '') + names[at]);
    history.replaceState(null, '', address.size ? `#${address}` : location.pathname + location.search);
  };
  const read = () => {
    const address = new URLSearchParams(location.hash.slice(1)), by = address.get('sort') ?? '', at = names.indexOf(by.replace('-', ''));
    filter.value = address.get('find') ?? '';
    state.value = address.get('state') ?? '';
    if (state.selectedIndex < 0) state.value = '';
    started.checked = address.has('subagents');
    if (at >= 0) sort(at, by[0] === '-' ? -1 : 1);
    else sort(first, -1);
    show();
  };

  heads.forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = head.textContent;
    button.addEventListener('click', () => {
      const was = head.ariaSort ?? ('n' in head.dataset ? 'ascending' : 'descending');
      sort(column, was === 'ascending' ? -1 : 1);
      show();
      keep();
    });
    head.replaceChildren(button);
  });
  for (const input of [filter, state, started]) input.addEventListener('input', () => { show(); keep(); });
  for (const hidden of document.querySelectorAll('#find [hidden]')) hidden.hidden = false;
  addEventListener('hashchange', read);
  // After this script, a browser can restore earlier input in the field.
  addEventListener('pageshow', () => (location.hash || filter.value || state.value || started.checked) && read());
  if (location.hash) read();
})();
