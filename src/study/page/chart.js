/* Charts that answer: each figure of a page holds its numbers as JSON beside the drawing. The drawing
   is what is printed, and what is seen without scripts; here it is drawn anew, with a crosshair
   over all lines, lines that can be switched off, logarithmic axes, smoothing, a range to look
   into, and its numbers and pictures as files. A line that is switched off is so in all charts, and
   all are smoothed alike. Other figures stay as they are drawn, and can be had as files too.
   Nothing is asked of any server. */
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

  /* The number of a tick, without zeros behind its point. */
  function tick(kind, x) { return show[kind](x).replace(/(\.\d*?)0+(?=\D|$)/, '$1').replace(/\.(?=\D|$)/, ''); }
  /* Where x lies between a and b, from 0 to 1. */
  function share(x, a, b, log) {
    return log ? (Math.log(x) - Math.log(a)) / (Math.log(b) - Math.log(a) || 1) : (x - a) / (b - a || 1);
  }

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
      return out.length > most + 2 ? out.filter(function (t) { return /^1/.test(t.toExponential()); }) : out;
    }
    step = Math.pow(10, Math.floor(Math.log10((b - a) / 5)));
    while ((b - a) / step > most) step *= (b - a) / step > 2 * most ? 5 : 2;
    for (x = Math.ceil(a / step) * step; x <= b + step * 1e-6; x += step) out.push(Math.abs(x) < step * 1e-6 ? 0 : x);
    return out;
  }

  /* The classes of a line: of more than eight colours come again, dashed. */
  function look(kind, l) { return kind + l.colour % 8 + (l.colour >= 8 ? ' d' + Math.floor(l.colour / 8) % 3 : ''); }

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
  /* With the colours that it has here, since no style sheet goes along. */
  function alone(svg) {
    var copy = svg.cloneNode(true), mine = svg.querySelectorAll('*'), its = copy.querySelectorAll('*');
    var box = svg.viewBox.baseVal;
    its.forEach(function (e, i) {
      var s = getComputedStyle(mine[i]);
      ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'font', 'stroke-dasharray', 'opacity'].forEach(function (k) {
        e.style.setProperty(k, s.getPropertyValue(k));
      });
    });
    copy.setAttribute('xmlns', NS);
    copy.setAttribute('width', box.width);
    copy.setAttribute('height', box.height);
    copy.insertBefore(make('rect', { width: '100%', height: '100%', fill: getComputedStyle(document.body).backgroundColor }), copy.firstChild);
    return new XMLSerializer().serializeToString(copy);
  }
  function saveSvg(name, svg) { save(name + '.svg', new Blob([alone(svg)], { type: 'image/svg+xml' })); }
  function savePng(name, svg) {
    var image = new Image(), canvas = document.createElement('canvas'), box = svg.viewBox.baseVal;
    canvas.width = box.width * 2;
    canvas.height = box.height * 2;
    image.onload = function () {
      canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(function (blob) { save(name + '.png', blob); });
    };
    image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(alone(svg));
  }
  function saveCsv(name, rows) {
    var text = rows.map(function (row) {
      return row.map(function (v) { return typeof v === 'number' ? v : '"' + String(v).replace(/"/g, '""') + '"'; }).join(',');
    });
    save(name + '.csv', new Blob([text.join('\n') + '\n'], { type: 'text/csv' }));
  }
  /* Three buttons; `svg` and `rows` say what there is to save when one is pressed. */
  function files(tools, data, svg, rows) {
    var group = document.createElement('span');
    group.className = 'files';
    tools.appendChild(group);
    button('CSV', data.title + ' as CSV', group, function () { saveCsv(data.name, rows()); });
    button('SVG', data.title + ' as SVG', group, function () { saveSvg(data.name, svg()); });
    button('PNG', data.title + ' as PNG', group, function () { savePng(data.name, svg()); });
  }
  function save(name, blob) {
    var a = document.createElement('a');
    a.href = URL.createObjectURL(blob);
    a.download = name;
    a.click();
    setTimeout(function () { URL.revokeObjectURL(a.href); }, 1000);
  }

  /* What the reader chose outlives an update of the page: of all charts, and of each by its name. */
  var all = { off: {}, smooth: 0 }, each = {};
  var charts = []; /* of the page as it is: what draws each anew */
  function drawAll() { charts.forEach(function (draw) { draw(); }); }

  /* Of one figure; `kept` is what was chosen for it alone. */
  function chart(figure, data, kept) {
    var svg, plot, x0, x1, y0, y1, shown, raw;
    var box = document.createElement('div'), tools = document.createElement('div');
    var said = document.createElement('div');
    var caption = document.createElement('figcaption');
    caption.textContent = data.title;
    box.className = 'chart';
    tools.className = 'tools';
    said.className = 'said-at';
    said.setAttribute('role', 'status');

    function px(x) { return LEFT + share(x, x0, x1, kept.logX) * (W - LEFT - RIGHT); }
    function py(y) { return H - BOTTOM - share(y, y0, y1, kept.log) * (H - TOP - BOTTOM); }
    function unpx(p) {
      var k = (p - LEFT) / (W - LEFT - RIGHT);
      return kept.logX ? x0 * Math.pow(x1 / x0, k) : x0 + k * (x1 - x0);
    }
    function within(at) {
      return at.filter(function (p) {
        return (!kept.range || (p[0] >= kept.range[0] && p[0] <= kept.range[1])) && (!kept.log || p[1] > 0) && (!kept.logX || p[0] > 0);
      });
    }

    function extent() {
      var a = Infinity, b = -Infinity, c = Infinity, d = -Infinity;
      shown = data.lines.map(function (l) {
        return all.off[l.name] ? [] : within(smooth(l.at, l.ideal || l.dots || data.one ? 0 : all.smooth));
      });
      /* What was smoothed is seen behind it, faintly. */
      raw = data.lines.map(function (l, i) {
        return all.smooth === 0 || l.ideal || l.dots || data.one || all.off[l.name] ? [] : within(l.at);
      });
      shown.forEach(function (at) {
        at.forEach(function (p) {
          a = Math.min(a, p[0]); b = Math.max(b, p[0]);
          c = Math.min(c, p[1]); d = Math.max(d, p[1]);
        });
      });
      if (a === Infinity) { a = kept.logX ? 1 : 0; b = kept.logX ? 10 : 1; c = kept.log ? 1 : 0; d = kept.log ? 10 : 1; }
      if (kept.range) { a = kept.range[0]; b = kept.range[1]; }
      if (data.zero && !kept.log) c = Math.min(0, c);
      if (data.one && !kept.log) { d = Math.max(1, d); if (!kept.range) { a = Math.min(0, a); b = Math.max(1, b); } }
      if (!kept.log && !data.zero) { var m = (d - c) * 0.05 || Math.abs(d) * 0.05 || 1; c -= m; d += m; }
      if (a === b && a > 0) { a = kept.logX ? a / 2 : 0; b *= 2; } /* a single place is in the middle */
      x0 = a; x1 = b > a ? b : a + 1; y0 = c; y1 = d > c ? d : c * 1.1 + 1e-9;
    }

    function path(at) { return 'M' + at.map(function (p) { return px(p[0]).toFixed(1) + ' ' + py(p[1]).toFixed(1); }).join('L'); }
    function draw() {
      W = innerWidth < 500 ? NARROW : WIDE;
      extent();
      if (svg) svg.remove();
      svg = make('svg', { 'class': 'fig', viewBox: '0 0 ' + W + ' ' + H, role: 'img', tabindex: 0,
        'aria-label': data.title + '. Arrow keys read its values.' });
      ticks(y0, y1, kept.log, 7, data.y.kind).forEach(function (y) {
        make('line', { 'class': 'g', x1: LEFT, x2: W - RIGHT, y1: py(y), y2: py(y) }, svg);
        make('text', { x: LEFT - 7, y: py(y) + 4, 'text-anchor': 'end' }, svg, tick(data.y.kind, y));
      });
      ticks(x0, x1, kept.logX, W < WIDE ? 5 : 7, data.x.kind).forEach(function (x) {
        make('line', { 'class': 'a', x1: px(x), x2: px(x), y1: H - BOTTOM, y2: H - BOTTOM + 5 }, svg);
        make('text', { x: px(x), y: H - BOTTOM + 18, 'text-anchor': 'middle' }, svg, tick(data.x.kind, x));
      });
      make('line', { 'class': 'a', x1: LEFT, x2: W - RIGHT, y1: H - BOTTOM, y2: H - BOTTOM }, svg);
      make('text', { x: (LEFT + W - RIGHT) / 2, y: H - 4, 'text-anchor': 'middle' }, svg, data.x.label);
      make('text', { transform: 'translate(12 ' + (TOP + H - BOTTOM) / 2 + ') rotate(-90)', 'text-anchor': 'middle' }, svg, data.y.label);
      plot = make('g', {}, svg);
      plot.setAttribute('clip-path', 'inset(' + (TOP - 6) + 'px ' + (RIGHT - 6) + 'px ' + (BOTTOM - 4) + 'px ' + (LEFT - 6) + 'px) view-box');
      raw.forEach(function (at, i) {
        if (at.length) make('path', { 'class': 'raw c' + data.lines[i].colour % 8, d: path(at), fill: 'none' }, plot);
      });
      shown.forEach(function (at, i) {
        if (!at.length) return;
        var l = data.lines[i];
        if (!l.dots) make('path', { 'class': l.ideal ? 'i' : look('l c', l), d: path(at), fill: 'none', 'stroke-width': 2 }, plot);
        if ((at.length <= 24 || l.dots) && !l.ideal)
          at.forEach(function (p) {
            make('circle', { 'class': 'f' + l.colour % 8, cx: px(p[0]), cy: py(p[1]), r: l.dots ? 2.2 : 3, 'fill-opacity': l.dots ? 0.65 : 1 }, plot);
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
        make('circle', { 'class': 'f' + data.lines[i].colour % 8, cx: px(best[0]), cy: py(best[1]), r: 4 }, cross);
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
    var buttons = [], slider = null;
    function toggle(parent, text, label, on, act) {
      var b = button(text, label, parent, act);
      buttons.push(function () { b.setAttribute('aria-pressed', String(on())); });
      return b;
    }
    function everything() {
      buttons.forEach(function (b) { b(); });
      if (slider) slider.value = all.smooth;
      draw();
    }
    function above(k) {
      return !data.one && data.lines.every(function (l) { return !l.dots && l.at.every(function (p) { return p[k] > 0; }); });
    }
    function rows() {
      return [['line', data.x.label, data.y.label]].concat(...data.lines.map(function (l) {
        return l.at.map(function (p) { return [l.name, p[0], p[1]]; });
      }));
    }
    if (data.lines.length > 1) {
      var legend = document.createElement('div');
      legend.className = 'tools legend'; /* of many runs it is scrolled */
      data.lines.forEach(function (l) {
        toggle(legend, l.name, 'show ' + l.name + ' in ' + data.title, function () { return !all.off[l.name]; },
          function () { all.off[l.name] = !all.off[l.name]; drawAll(); }).className = 'line ' + (l.ideal ? 'ideal' : look('k', l));
      });
      box.appendChild(legend);
    }
    [['log x', 'logX', 0, 'x'], ['log y', 'log', 1, 'y']].forEach(function (t) {
      if (above(t[2]))
        toggle(tools, t[0], t[0] + ': a logarithmic ' + t[3] + ' axis of ' + data.title, function () { return kept[t[1]]; },
          function () { kept[t[1]] = !kept[t[1]]; everything(); });
    });
    if (!data.one && data.lines.some(function (l) { return l.at.length > 8 && !l.dots; })) {
      var name = document.createElement('label');
      name.textContent = 'smooth ';
      slider = document.createElement('input');
      slider.type = 'range';
      slider.min = 0;
      slider.max = 99;
      slider.setAttribute('aria-label', 'smooth all charts, from ' + data.title);
      slider.addEventListener('input', function () { all.smooth = +slider.value; drawAll(); });
      name.appendChild(slider);
      tools.appendChild(name);
    }
    files(tools, data, function () { return svg; }, rows);
    box.insertBefore(said, box.firstChild);
    box.appendChild(tools);
    charts.push(everything);
    everything();
    figure.appendChild(caption);
    figure.appendChild(box);
    figure.classList.add('live');
  }

  /* A figure that stays as it is drawn: its rows are its numbers. */
  function drawing(figure, data) {
    var tools = document.createElement('div'), caption = document.createElement('figcaption');
    var svg = figure.querySelector('svg'), titles = svg.querySelectorAll('.t'), box = svg.viewBox.baseVal;
    tools.className = 'tools';
    files(tools, data, function () { return svg; }, function () { return data.rows; });
    figure.appendChild(tools);
    figure.classList.add('drawn');
    if (titles.length !== 1) return; /* of panels each has its own */
    caption.textContent = data.title;
    figure.insertBefore(caption, figure.firstChild);
    svg.setAttribute('viewBox', '0 26 ' + box.width + ' ' + (box.height - 26));
    titles[0].remove();
  }

  return function (root) {
    charts = [];
    root.querySelectorAll('figure > script.data').forEach(function (s) {
      var data = JSON.parse(s.textContent);
      NS = s.parentNode.querySelector('svg').namespaceURI;
      if (data.rows) return drawing(s.parentNode, data);
      each[data.name] = each[data.name] || { log: false, logX: false, range: null };
      chart(s.parentNode, data, each[data.name]);
    });
  };
})();
