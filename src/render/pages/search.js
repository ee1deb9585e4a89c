// The field that searches all sessions. In the mount, search/ is next to html/. A name there has these characters as %XX.
(() => {
  'use strict';
  const query = document.getElementById('query'), hex = c => `%${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  const place = location.pathname.match(/\/(html\/index|search\/[^/]+\/hits)\.html$/);
  if (place) {
    query.hidden = query.labels[0].hidden = false;
    query.nextElementSibling.hidden = true;
  }
  query.addEventListener('keydown', event => {
    const name = query.value.trim().replace(/[\x00-\x1f\x7f/%]|^[.~]/g, hex);
    if (event.key === 'Enter' && name) location.assign(`${place?.[1] === 'html/index' ? '../search/' : '../'}${encodeURIComponent(name)}/hits.html`);
  });
})();
