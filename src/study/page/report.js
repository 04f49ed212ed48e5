/* The page of a report: charts, values of bars, tables that are sorted, and of a run that goes on
   the newest state, in place. */
(function () {
  'use strict';
  var tip = document.getElementById('tip');

  function hide() { tip.style.display = 'none'; }
  function clamp(x, a, w) { return Math.min(Math.max(x, a), a + w); }

  /* Figures without numbers of their own (bars, timelines, panels) show the value pointed at. */
  function hover(svg) {
    var dots = [];
    svg.querySelectorAll('.h,rect.b').forEach(function (c) {
      var t = c.querySelector('title'), box = c.tagName === 'rect';
      function n(a, b) { return +(c.getAttribute(a) || c.getAttribute(b) || 0); }
      if (t) dots.push({ x: n('cx', 'x'), y: n('cy', 'y'), t: t.textContent, w: box ? n('width') : 0, h: box ? n('height') : 0 });
    });
    if (!dots.length) return;
    svg.addEventListener('pointerleave', hide);
    svg.addEventListener('pointermove', function (e) {
      var b = svg.getBoundingClientRect(), box = svg.viewBox.baseVal, k = box.width / b.width;
      var x = (e.clientX - b.left) * k, y = (e.clientY - b.top) * k + box.y, best = null, far = 900, left;
      dots.forEach(function (d) {
        var u = clamp(x, d.x, d.w) - x, v = clamp(y, d.y, d.h) - y, q = d.w ? (u || v ? 900 : 0) : u * u + v * v;
        if (q < far) { far = q; best = d; }
      });
      if (!best) return hide();
      tip.textContent = best.t;
      tip.style.display = 'block';
      left = b.left + window.scrollX + clamp(x, best.x, best.w) / k + 12;
      left = Math.min(left, window.scrollX + document.documentElement.clientWidth - tip.offsetWidth - 8);
      tip.style.left = left + 'px';
      tip.style.top = (b.top + window.scrollY + (best.y + best.h - box.y) / k + 14) + 'px';
    });
  }

  /* By the column whose head is pressed; numbers by data-n, and the other way round the next time. */
  function sortable(table) {
    table.querySelectorAll('th').forEach(function (th, column) {
      var b = document.createElement('button');
      b.type = 'button';
      b.textContent = th.textContent;
      th.textContent = '';
      th.appendChild(b);
      b.addEventListener('click', function () {
        var down = th.getAttribute('aria-sort') === 'ascending', body = table.tBodies[0];
        var rows = Array.prototype.slice.call(body.rows);
        function value(row) {
          var cell = row.cells[column], n = cell.getAttribute('data-n');
          return n === null ? cell.textContent : +n;
        }
        rows.sort(function (x, y) {
          var u = value(x), v = value(y), d = typeof u === 'number' ? u - v : u.localeCompare(v, undefined, { numeric: true });
          return down ? -d : d;
        });
        table.querySelectorAll('th').forEach(function (o) { o.removeAttribute('aria-sort'); });
        th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        rows.forEach(function (row) { body.appendChild(row); });
      });
    });
  }

  function enliven(root) {
    root.querySelectorAll('.album svg').forEach(hover);
    root.querySelectorAll('table.sortable').forEach(sortable);
    shoalCharts(root);
  }
  enliven(document);

  /* While a run goes on the page asks for itself, and takes over what is new. What the reader chose,
     where the page is scrolled to and what has the focus stay. */
  var live = document.body.getAttribute('data-refresh');
  function runsOf(root, fn) {
    root.querySelectorAll('details[data-run]').forEach(function (d) { fn(d, d.getAttribute('data-run')); });
  }
  /* What the reader opened or closed stays so; each log is scrolled to its end. */
  var folded = {};
  function logs(root) {
    root.querySelectorAll('details').forEach(function (d) {
      var name = d.className + ' ' + d.getAttribute('data-run'), pre = d.querySelector('pre');
      if (name in folded) d.open = folded[name];
      if (pre) pre.scrollTop = pre.scrollHeight;
      d.querySelector('summary').addEventListener('click', function () { folded[name] = !d.open; });
    });
  }
  if (live) logs(document);
  function say(text) { document.querySelector('.under').textContent = text; }
  /* What has the focus stays: bars and lines of logs take over their texts. */
  function inPlace(next) {
    var bars = next.querySelectorAll('.live-run');
    document.querySelectorAll('.live-run').forEach(function (p, i) {
      if (bars[i]) { p.innerHTML = bars[i].innerHTML; p.className = bars[i].className; }
    });
    runsOf(next, function (d, name) {
      runsOf(document, function (own, of) {
        if (of === name) own.querySelector('pre').textContent = d.querySelector('pre').textContent;
      });
    });
  }
  var seen = '';
  function update() {
    fetch(location.href).then(function (answer) { return answer.text(); }).then(function (text) {
      var next = new DOMParser().parseFromString(text, 'text/html');
      var busy = document.activeElement && document.activeElement.closest('figure,table,details');
      var was = seen;
      if (!next.querySelector('.under')) return gone('No run is there any more; this is the last that was seen.');
      document.title = next.title;
      say(next.querySelector('.under').textContent);
      seen = next.querySelector('main').innerHTML;
      if (seen === was) return; /* all is over */
      if (!busy) {
        document.querySelector('main').replaceWith(document.adoptNode(next.querySelector('main')));
        enliven(document.querySelector('main'));
        logs(document.querySelector('main'));
      } else {
        inPlace(next);
      }
    }, function () { gone('The run, or who shows it, has ended; this is the last that was seen of it.'); });
  }
  /* It goes on asking: who shows the runs may come back at the same address. */
  function gone(why) {
    say(why);
    document.title = document.title.replace(/^[0-9]+ % - /, '');
    seen = '';
  }
  if (live) setInterval(update, 1000 * live);
})();
