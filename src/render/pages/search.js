// The field that searches all sessions. In the mount, search/ is next to html/. A name there has these characters as %XX.
(() => {
  'use strict';
  const query = document.getElementById('query'), hex = c => `%${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  const place = location.pathname.match(/\/(html\/index|search\/[^/]+\/hits)\.html$/);
  if (place) {
    query.hidden = query.labels[0].hidden = false;
    query.nextElementSibling.hidden = true;
  }
  addEventListener('keydown', event => {
    if (event.key !== '/' || event.ctrlKey || event.altKey || event.metaKey || event.target.closest?.('input, select')) return;
    event.preventDefault();
    (place ? query : document.getElementById('filter'))?.focus();
  });
  query.addEventListener('input', () => query.setCustomValidity(''));
  query.addEventListener('keydown', event => {
    if (event.key !== 'Enter' || event.isComposing) return;
    const name = query.value.trim().replace(/\p{Cs}/gu, '\ufffd').replace(/[\x00-\x1f\x7f/%]|^[.~]/g, hex);
    const isLong = new TextEncoder().encode(name).length > 255;
    query.setCustomValidity(isLong ? 'Too long to be the name of a directory' : '');
    if (!query.reportValidity() || !name) return;
    location.assign(`${place?.[1] === 'html/index' ? '../search/' : '../'}${encodeURIComponent(name)}/hits.html`);
  });
})();
