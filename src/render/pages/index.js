(() => {
  'use strict';
  const list = document.getElementById('list'), body = list.tBodies[0], heads = [...list.tHead.rows[0].cells];
  const filter = document.getElementById('filter'), count = document.getElementById('count');
  const rows = [...body.rows], texts = new Map();
  const textOf = row => {
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
    return texts.get(row);
  };
  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      row.hidden = !words.every(word => textOf(row).includes(word));
      if (!row.hidden) shown++;
    }
    count.textContent = `${shown} of ${rows.length}`;
  };
  const sort = column => {
    const head = heads[column], isNumber = 'n' in head.dataset;
    const was = head.getAttribute('aria-sort') ?? (isNumber ? 'ascending' : 'descending');
    const sign = was === 'ascending' ? -1 : 1;
    const keys = new Map(rows.map(row => {
      const cell = row.cells[column];
      return [row, isNumber ? Number(cell.dataset.v ?? -Infinity) : cell.textContent];
    }));
    const order = new Intl.Collator(undefined, { numeric: true }).compare;
    rows.sort((a, b) => sign * (isNumber ? Math.sign(keys.get(a) - keys.get(b)) || 0 : order(keys.get(a), keys.get(b))));
    const sorted = document.createDocumentFragment();
    for (const row of rows) sorted.append(row);
    body.append(sorted);
    for (const each of heads) each.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
  };
  heads.forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = head.textContent;
    button.addEventListener('click', () => sort(column));
    head.replaceChildren(button);
  });
  filter.addEventListener('input', show);
  document.getElementById('find').hidden = false;
  show();
})();
