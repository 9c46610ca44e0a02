// The interaction of a flame graph, in the SVG itself: zoom (click, Enter), search (Ctrl-F, "/"),
// details of the frame below the pointer, navigation by arrow keys.
//
// Each frame is a <g class="frame"> of a <title> (name, place, figures; a line each), a <rect> and a
// <text>, parents before children, heaviest child first. Its position gives its depth.
'use strict';
(() => {
  const CHARACTER = 7.3;  // pixels wide, with the font of the style
  const PADDING = 4;
  const NARROWEST_WINDOW = 480;
  const NARROWEST = 0.1;  // pixels; narrower frames are not drawn

  const svg = document.documentElement;
  const byId = id => document.getElementById(id);
  const [, , drawnWidth, height] = svg.getAttribute('viewBox').split(' ').map(Number);
  let canvas = drawnWidth;
  const details = byId('details'), matched = byId('matched'), reset = byId('reset');
  const search = byId('search'), head = byId('head');

  const frames = readFrames();
  const root = frames[0];
  let zoomed = root, selected = null;

  function readFrames() {
    const list = [], open = [];
    for (const element of document.querySelectorAll('g.frame')) {
      const rect = element.querySelector('rect');
      const title = element.querySelector('title').textContent;
      const frame = {
        element, rect, title, text: element.querySelector('text'),
        name: title.split('\n')[0],
        x: Number(rect.getAttribute('x')), width: Number(rect.getAttribute('width')),
        y: Number(rect.getAttribute('y')), drawn: null, parent: null, children: [], matches: false,
      };
      frame.drawn = {x: frame.x, width: frame.width};
      // Frames at this height, and above its parent, are finished.
      while (open.length !== 0 && open[open.length - 1].y <= frame.y) open.pop();
      if (open.length !== 0) {
        frame.parent = open[open.length - 1];
        frame.parent.children.push(frame);
      }
      open.push(frame);
      list.push(frame);
      element.sampanFrame = frame;
    }
    return list;
  }

  function contains(outer, frame) {
    for (; frame !== null; frame = frame.parent) if (frame === outer) return true;
    return false;
  }

  // The part of the name that fits.
  function fitted(name, width) {
    const fits = Math.floor((width - PADDING) / CHARACTER);
    if (name.length <= fits) return name;
    return fits < 3 ? '' : name.slice(0, fits - 2) + '..';
  }

  function place(frame, x, width) {
    frame.element.style.display = width < NARROWEST ? 'none' : '';
    if (width < NARROWEST) return;
    frame.rect.setAttribute('x', x);
    frame.rect.setAttribute('width', width);
    if (frame.text === null) {
      frame.text = document.createElementNS(svg.namespaceURI, 'text');
      frame.text.setAttribute('y', frame.y + 12);
      frame.element.append(frame.text);
    }
    frame.text.setAttribute('x', x + PADDING / 2);
    frame.text.textContent = fitted(frame.name, width);
  }

  // Shows the frame as wide as the picture with its callers below, and nothing else.
  function zoom(frame) {
    zoomed = frame;
    const scale = canvas / frame.width;
    const within = new Set();
    for (const other of frames) {
      if (other === frame || within.has(other.parent)) {
        within.add(other);
        place(other, (other.x - frame.x) * scale, other.width * scale);
      } else if (contains(other, frame)) {
        place(other, 0, canvas);
      } else {
        other.element.style.display = 'none';
      }
      other.element.classList.toggle('caller', other !== frame && contains(other, frame));
    }
    reset.style.display = frame === root ? 'none' : '';
  }

  function find() {
    let pattern = null;
    search.classList.remove('wrong');
    try {
      if (search.value !== '') pattern = new RegExp(search.value);
    } catch {
      search.classList.add('wrong');  // not a valid regular expression (yet)
    }
    let width = 0;
    const counted = new Set();  // frames inside a matching one, whose width includes theirs
    for (const frame of frames) {
      frame.matches = pattern !== null && pattern.test(frame.name);
      frame.element.classList.toggle('match', frame.matches);
      if (counted.has(frame.parent)) {
        counted.add(frame);
      } else if (frame.matches) {
        counted.add(frame);
        width += frame.width;
      }
    }
    svg.classList.toggle('searching', pattern !== null);
    matched.textContent = pattern === null ? '' : `matched: ${(100 * width / root.width).toFixed(2)} %`;
  }

  function show(frame) {
    details.textContent = frame === null ? '' : frame.title.split('\n').join('   ');
  }

  function select(frame) {
    if (frame === null) return;
    if (selected !== null) selected.element.classList.remove('selected');
    selected = frame;
    frame.element.classList.add('selected');
    frame.element.scrollIntoView({block: 'nearest'});
    show(frame);
  }

  // A drawn neighbour of the selected frame, in the direction of an arrow.
  function neighbour(key) {
    if (selected === null) return zoomed;
    const drawn = frame => frame.element.style.display !== 'none';
    if (key === 'ArrowUp') return selected.children.find(drawn) ?? null;
    if (key === 'ArrowDown') return selected.parent;
    const row = selected.parent === null ? [] : selected.parent.children.filter(drawn);
    return row[row.indexOf(selected) + (key === 'ArrowRight' ? 1 : -1)] ?? null;
  }

  function onKey(event) {
    const inSearch = event.target === search;
    if ((event.key === 'f' && (event.ctrlKey || event.metaKey)) || (event.key === '/' && !inSearch)) {
      search.focus();
    } else if (event.key === 'Escape') {
      if (search.value !== '') {
        search.value = '';
        find();
      } else {
        zoom(root);
      }
      search.blur();
    } else if (event.key === 'Enter') {
      if (inSearch) search.blur();
      else if (selected !== null) zoom(selected);
    } else if (event.key.startsWith('Arrow') && !inSearch) {
      select(neighbour(event.key));
    } else {
      return;
    }
    event.preventDefault();
  }

  // As wide as the window.
  function fitWindow() {
    canvas = Math.max(NARROWEST_WINDOW, document.documentElement.clientWidth || window.innerWidth);
    svg.setAttribute('viewBox', `0 0 ${canvas} ${height}`);
    svg.setAttribute('width', canvas);
    byId('under').setAttribute('width', canvas);
    byId('title').setAttribute('x', canvas / 2);
    byId('searching').setAttribute('x', canvas - 232);
    matched.setAttribute('x', canvas - 8);
    for (const frame of frames) {
      frame.x = frame.drawn.x * canvas / drawnWidth;
      frame.width = frame.drawn.width * canvas / drawnWidth;
    }
    zoom(zoomed);
  }

  // The title stays at the top of the window.
  function followScroll() {
    head.setAttribute('transform', `translate(0, ${window.scrollY})`);
  }

  const frameOf = event => event.target.closest('g.frame')?.sampanFrame ?? null;
  svg.addEventListener('click', event => {
    const frame = frameOf(event);
    if (frame !== null) {
      select(frame);
      zoom(frame);
    }
  });
  svg.addEventListener('mouseover', event => show(frameOf(event) ?? selected));
  svg.addEventListener('keydown', onKey);
  search.addEventListener('input', find);
  reset.addEventListener('click', () => zoom(root));
  reset.style.display = 'none';
  svg.append(head);  // above the frames, which it may cover
  window.addEventListener('resize', fitWindow);
  window.addEventListener('scroll', followScroll);
  fitWindow();
  window.scrollTo(0, Number.MAX_SAFE_INTEGER);  // the root is at the bottom
})();
