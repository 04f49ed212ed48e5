/* Charts that answer: each figure of a page holds its numbers as JSON beside the drawing. The drawing
   is what is printed, and what is seen without scripts; here it is drawn anew, with a crosshair
   over all lines, lines that can be switched off, a logarithmic axis, smoothing, a range to look
   into, and its numbers and pictures as files. Nothing is asked of any server. */
var shoalCharts = (function () {
  'use strict';
  var WIDE = 560, NARROW = 370; /* of a phone: words keep their size */
  var W = WIDE, H = 300, LEFT = 76, RIGHT = 22, TOP = 12, BOTTOM = 40;
  var NS; /* of SVG, as the page's drawings have it */

  function digits(x) { x = Math.abs(x); return x >= 99.95 ? 0 : x >= 9.995 ? 1 : 2; }
  function scaled(x, by, units) {
    var i = 0;
    while (Math.abs(x) >= 999.5 && i < 4) { x /= by; i++; }
    return x.toFixed(i === 0 && x === Math.floor(x) ? 0 : digits(x)) + units[i];
  }
  var show = {
    plain: function (x) { return String(+x.toPrecision(4)); },
    seconds: function (x) {
      return x >= 3600 ? (x / 3600).toFixed(2) + ' h' : x >= 600 ? (x / 60).toFixed(1) + ' min'
        : x >= 0.1 || x === 0 ? +x.toPrecision(3) + ' s' : +(x * 1000).toPrecision(3) + ' ms';
    },
    count: function (x) { return scaled(x, 1000, ['', ' k', ' M', ' G', ' T']); },
    bytes: function (x) { return scaled(x, 1024, [' B', ' KiB', ' MiB', ' GiB', ' TiB']); },
    share: function (x) { return +(100 * x).toPrecision(3) + ' %'; }
  };

  /* Round numbers between a and b, or powers of ten and their halves. */
  function ticks(a, b, log, most, kind) {
    var out = [], step, x, unit;
    if (kind === 'bytes' && !log && b >= 1024) { /* of MiB, say, not of bytes */
      unit = Math.pow(1024, Math.floor(Math.log(b) / Math.log(1024)));
      return ticks(a / unit, b / unit, log, most).map(function (t) { return t * unit; });
    }
    if (log) {
      for (x = Math.pow(10, Math.floor(Math.log10(a))); x <= b * 1.0001; x *= 10)
        [1, 2, 5].forEach(function (k) { if (x * k >= a * 0.999 && x * k <= b * 1.001) out.push(x * k); });
      return out.length > 9 ? out.filter(function (t) { return /^1/.test(t.toExponential()); }) : out;
    }
    step = Math.pow(10, Math.floor(Math.log10((b - a) / 5)));
    while ((b - a) / step > most) step *= (b - a) / step > 2 * most ? 5 : 2;
    for (x = Math.ceil(a / step) * step; x <= b + step * 1e-6; x += step) out.push(Math.abs(x) < step * 1e-6 ? 0 : x);
    return out;
  }

  /* A mean over the neighbours, whose weight falls with their distance in points. */
  function smooth(at, by) {
    var last = null, w = by / 100 * 0.98;
    return w === 0 ? at : at.map(function (p) {
      last = last === null ? p[1] : w * last + (1 - w) * p[1];
      return [p[0], last];
    });
  }

  function make(tag, attributes, parent, text) {
    var e = document.createElementNS(NS, tag);
    Object.keys(attributes).forEach(function (k) { e.setAttribute(k, attributes[k]); });
    if (text !== undefined) e.textContent = text;
    if (parent) parent.appendChild(e);
    return e;
  }
  function button(text, label, parent, act) {
    var b = document.createElement('button');
    b.type = 'button';
    b.textContent = text;
    b.setAttribute('aria-label', label);
    b.addEventListener('click', act);
    parent.appendChild(b);
    return b;
  }
  function save(name, blob) {
    var a = document.createElement('a');
    a.href = URL.createObjectURL(blob);
    a.download = name;
    a.click();
    setTimeout(function () { URL.revokeObjectURL(a.href); }, 1000);
  }

  /* Of one figure. `kept` is what the reader chose, and outlives an update of the page. */
  function chart(figure, data, kept) {
    var svg, plot, x0, x1, y0, y1, shown;
    var box = document.createElement('div'), tools = document.createElement('div');
    var said = document.createElement('div');
    var caption = document.createElement('figcaption');
    NS = figure.querySelector('svg').namespaceURI;
    caption.textContent = data.title;
    box.className = 'chart';
    tools.className = 'tools';
    said.className = 'said-at';
    said.setAttribute('role', 'status');

    function px(x) { return LEFT + (x - x0) / (x1 - x0 || 1) * (W - LEFT - RIGHT); }
    function py(y) {
      var k = kept.log ? (Math.log(y) - Math.log(y0)) / (Math.log(y1) - Math.log(y0) || 1) : (y - y0) / (y1 - y0 || 1);
      return H - BOTTOM - k * (H - TOP - BOTTOM);
    }
    function unpx(p) { return x0 + (p - LEFT) / (W - LEFT - RIGHT) * (x1 - x0); }

    function extent() {
      var a = Infinity, b = -Infinity, c = Infinity, d = -Infinity;
      shown = data.lines.map(function (l) {
        var at = kept.off[l.name] ? [] : smooth(l.at, l.ideal || l.dots ? 0 : kept.smooth);
        return at.filter(function (p) {
          return (!kept.range || (p[0] >= kept.range[0] && p[0] <= kept.range[1])) && (!kept.log || p[1] > 0);
        });
      });
      shown.forEach(function (at) {
        at.forEach(function (p) {
          a = Math.min(a, p[0]); b = Math.max(b, p[0]);
          c = Math.min(c, p[1]); d = Math.max(d, p[1]);
        });
      });
      if (a === Infinity) { a = 0; b = 1; c = kept.log ? 1 : 0; d = kept.log ? 10 : 1; }
      if (kept.range) { a = kept.range[0]; b = kept.range[1]; }
      if (data.zero && !kept.log) c = Math.min(0, c);
      if (data.one && !kept.log) { d = Math.max(1, d); if (!kept.range) { a = Math.min(0, a); b = Math.max(1, b); } }
      if (!kept.log && !data.zero) { var m = (d - c) * 0.05 || Math.abs(d) * 0.05 || 1; c -= m; d += m; }
      if (a === b && a > 0) { a = 0; b *= 2; } /* a single place is in the middle */
      x0 = a; x1 = b > a ? b : a + 1; y0 = c; y1 = d > c ? d : c * 1.1 + 1e-9;
    }

    function draw() {
      W = innerWidth < 500 ? NARROW : WIDE;
      extent();
      if (svg) svg.remove();
      svg = make('svg', { 'class': 'fig', viewBox: '0 0 ' + W + ' ' + H, role: 'img', tabindex: 0,
        'aria-label': data.title + '. Arrow keys read its values.' });
      ticks(y0, y1, kept.log, 7, data.y.kind).forEach(function (y) {
        make('line', { 'class': 'g', x1: LEFT, x2: W - RIGHT, y1: py(y), y2: py(y) }, svg);
        make('text', { x: LEFT - 7, y: py(y) + 4, 'text-anchor': 'end' }, svg, show[data.y.kind](y));
      });
      ticks(x0, x1, false, W < WIDE ? 5 : 7, data.x.kind).forEach(function (x) {
        make('line', { 'class': 'a', x1: px(x), x2: px(x), y1: H - BOTTOM, y2: H - BOTTOM + 5 }, svg);
        make('text', { x: px(x), y: H - BOTTOM + 18, 'text-anchor': 'middle' }, svg, show[data.x.kind](x));
      });
      make('line', { 'class': 'a', x1: LEFT, x2: W - RIGHT, y1: H - BOTTOM, y2: H - BOTTOM }, svg);
      make('text', { x: (LEFT + W - RIGHT) / 2, y: H - 4, 'text-anchor': 'middle' }, svg, data.x.label);
      make('text', { transform: 'translate(12 ' + (TOP + H - BOTTOM) / 2 + ') rotate(-90)', 'text-anchor': 'middle' }, svg, data.y.label);
      plot = make('g', {}, svg);
      shown.forEach(function (at, i) {
        if (!at.length) return;
        var l = data.lines[i], d = at.map(function (p) { return px(p[0]).toFixed(1) + ' ' + py(p[1]).toFixed(1); });
        if (!l.dots) make('path', { 'class': (l.ideal ? 'i' : 'l c' + i % 8), d: 'M' + d.join('L'), fill: 'none', 'stroke-width': 2 }, plot);
        if ((at.length <= 24 || l.dots) && !l.ideal)
          at.forEach(function (p) {
            make('circle', { 'class': 'f' + i % 8, cx: px(p[0]), cy: py(p[1]), r: l.dots ? 2.2 : 3, 'fill-opacity': l.dots ? 0.65 : 1 }, plot);
          });
      });
      svg.addEventListener('pointermove', move);
      svg.addEventListener('pointerleave', leave);
      svg.addEventListener('pointerdown', grab);
      svg.addEventListener('dblclick', function () { kept.range = null; draw(); });
      svg.addEventListener('keydown', key);
      box.insertBefore(svg, box.firstChild);
    }

    /* What all lines have nearest to x. */
    var cross = null, cursor = null;
    function at(x) {
      var words = [], near = null;
      shown.forEach(function (points) {
        points.forEach(function (p) { if (near === null || Math.abs(p[0] - x) < Math.abs(near - x)) near = p[0]; });
      });
      if (cross) cross.remove();
      if (near === null) return;
      cursor = near;
      cross = make('g', { 'class': 'cross' }, svg);
      make('line', { 'class': 'a', x1: px(near), x2: px(near), y1: TOP, y2: H - BOTTOM }, cross);
      shown.forEach(function (points, i) {
        var best = null;
        points.forEach(function (p) { if (!best || Math.abs(p[0] - near) < Math.abs(best[0] - near)) best = p; });
        if (!best) return;
        make('circle', { 'class': 'f' + i % 8, cx: px(best[0]), cy: py(best[1]), r: 4 }, cross);
        words.push((data.lines[i].name ? data.lines[i].name + ' ' : '') + show[data.y.kind](best[1]));
      });
      said.textContent = data.x.label + ' ' + show[data.x.kind](near) + ': ' + words.join(', ');
    }
    function place(e) {
      var b = svg.getBoundingClientRect();
      return Math.min(Math.max((e.clientX - b.left) * W / b.width, LEFT), W - RIGHT);
    }
    var from = null, range = null;
    function grab(e) { if (e.button === 0) { from = place(e); svg.setPointerCapture(e.pointerId); svg.addEventListener('pointerup', drop, { once: true }); } }
    function move(e) {
      var p = place(e);
      at(unpx(p));
      if (from === null) return;
      if (range) range.remove();
      range = make('rect', { 'class': 'range', x: Math.min(from, p), y: TOP, width: Math.abs(p - from), height: H - TOP - BOTTOM }, svg);
    }
    function drop(e) {
      var p = place(e), a = unpx(Math.min(from, p)), b = unpx(Math.max(from, p)), wide = Math.abs(p - from) > 8;
      from = null;
      if (range) range.remove();
      range = null;
      if (wide) { kept.range = [a, b]; draw(); }
    }
    function leave() { if (cross) cross.remove(); cross = null; said.textContent = ''; }
    /* The point nearest to a step away, of those on that side: points may lie further apart. */
    function beyond(x, step) {
      var best = x;
      shown.forEach(function (points) {
        points.forEach(function (p) {
          if ((p[0] - x) * step > 0 && (best === x || Math.abs(p[0] - x - step) < Math.abs(best - x - step))) best = p[0];
        });
      });
      return best;
    }
    function key(e) {
      var step = (x1 - x0) / 40, moves = { ArrowLeft: -step, ArrowRight: step };
      if (e.key in moves) { at(cursor === null ? x0 : beyond(cursor, moves[e.key])); e.preventDefault(); }
      if (e.key === 'Escape') { kept.range = null; draw(); svg.focus(); }
    }

    /* ---- what it can be told, and files ---- */
    function csv() {
      var rows = ['line,' + data.x.label + ',' + data.y.label];
      data.lines.forEach(function (l) {
        l.at.forEach(function (p) { rows.push('"' + l.name.replace(/"/g, '""') + '",' + p[0] + ',' + p[1]); });
      });
      save(data.name + '.csv', new Blob([rows.join('\n') + '\n'], { type: 'text/csv' }));
    }
    /* With the colours that it has here, since no style sheet goes along. */
    function alone() {
      var copy = svg.cloneNode(true), mine = svg.querySelectorAll('*'), its = copy.querySelectorAll('*');
      its.forEach(function (e, i) {
        var s = getComputedStyle(mine[i]);
        ['fill', 'stroke', 'stroke-width', 'font', 'stroke-dasharray'].forEach(function (k) { e.style.setProperty(k, s.getPropertyValue(k)); });
      });
      copy.setAttribute('xmlns', NS);
      copy.setAttribute('width', W);
      copy.setAttribute('height', H);
      copy.insertBefore(make('rect', { width: '100%', height: '100%', fill: getComputedStyle(document.body).backgroundColor }), copy.firstChild);
      return new XMLSerializer().serializeToString(copy);
    }
    function png() {
      var image = new Image(), canvas = document.createElement('canvas');
      canvas.width = W * 2;
      canvas.height = H * 2;
      image.onload = function () {
        canvas.getContext('2d').drawImage(image, 0, 0, W * 2, H * 2);
        canvas.toBlob(function (blob) { save(data.name + '.png', blob); });
      };
      image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(alone());
    }
    function toggle(text, label, on, act) {
      var b = button(text, label, tools, function () { act(); b.setAttribute('aria-pressed', String(on())); draw(); });
      b.setAttribute('aria-pressed', String(on()));
      return b;
    }
    if (data.lines.length > 1)
      data.lines.forEach(function (l, i) {
        var b = toggle(l.name, 'show ' + l.name + ' in ' + data.title, function () { return !kept.off[l.name]; },
          function () { kept.off[l.name] = !kept.off[l.name]; });
        b.className = 'line ' + (l.ideal ? 'ideal' : 'k' + i % 8);
      });
    if (data.lines.every(function (l) { return !l.dots && l.at.every(function (p) { return p[1] > 0; }); }))
      toggle('log', 'log: a logarithmic axis of ' + data.title, function () { return kept.log; }, function () { kept.log = !kept.log; });
    if (data.lines.some(function (l) { return l.at.length > 8 && !l.dots; })) {
      var slider = document.createElement('input');
      slider.type = 'range';
      slider.min = 0;
      slider.max = 99;
      slider.value = kept.smooth;
      slider.title = 'smoothing';
      slider.setAttribute('aria-label', 'smoothing of ' + data.title);
      slider.addEventListener('input', function () { kept.smooth = +slider.value; draw(); });
      tools.appendChild(slider);
    }
    button('CSV', data.title + ' as CSV', tools, csv);
    button('SVG', data.title + ' as SVG', tools, function () { save(data.name + '.svg', new Blob([alone()], { type: 'image/svg+xml' })); });
    button('PNG', data.title + ' as PNG', tools, png);
    box.appendChild(said);
    box.appendChild(tools);
    draw();
    figure.appendChild(caption);
    figure.appendChild(box);
    figure.classList.add('live');
  }

  var chosen = {};
  return function (root) {
    root.querySelectorAll('figure > script.data').forEach(function (s) {
      var data = JSON.parse(s.textContent);
      chosen[data.name] = chosen[data.name] || { off: {}, log: false, smooth: 0, range: null };
      chart(s.parentNode, data, chosen[data.name]);
    });
  };
})();
