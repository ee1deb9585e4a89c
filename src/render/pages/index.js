(() => {
  'use strict';
  const GROUP = 100;
  const list = document.getElementById('list'), heads = [...list.tHead.rows[0].cells];
  const filter = document.getElementById('filter'), count = document.getElementById('count');
  const total = list.rows.length - 1;
  const compare = new Intl.Collator(undefined, { numeric: true }).compare;
  const texts = new Map();
  let kept;

  const rows = () => kept ??= [...list.rows].slice(1);
  // Without the numbers: who types 12 does not mean them.
  const textOf = row => {
    let text = texts.get(row);
    if (text === undefined) {
      text = [...row.cells].filter(cell => !cell.classList.contains('right')).map(cell => cell.textContent).join('\n').toLowerCase();
      texts.set(row, text);
    }
    return text;
  };
  // Only the rows that match are in the table, in full groups: a browser skips those that are not in view.
  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = words.length ? rows().filter(row => words.every(word => textOf(row).includes(word))) : rows();
    [...list.tBodies].forEach((body, i) => body.replaceChildren(...shown.slice(i * GROUP, (i + 1) * GROUP)));
    count.textContent = `${shown.length} of ${total}`;
  };
  const sort = column => {
    const head = heads[column], isNumber = 'n' in head.dataset;
    const was = head.getAttribute('aria-sort') ?? (isNumber ? 'ascending' : 'descending');
    const sign = was === 'ascending' ? -1 : 1;
    const keys = new Map(rows().map(row => {
      const cell = row.cells[column];
      return [row, isNumber ? Number(cell.dataset.v ?? -Infinity) : cell.textContent];
    }));
    const order = isNumber ? (a, b) => (a > b) - (a < b) : compare;
    rows().sort((a, b) => sign * order(keys.get(a), keys.get(b)));
    for (const each of heads) each.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
    show();
  };

  heads.forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = head.textContent;
    button.addEventListener('click', () => sort(column));
    head.replaceChildren(button);
  });
  filter.addEventListener('input', show);
  count.textContent = `${total} of ${total}`;
  document.getElementById('find').hidden = false;
  // A browser may have kept what was typed here before.
  if (filter.value) show();
})();
