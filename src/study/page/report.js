(function(){var tip=document.getElementById('tip');
function hide(){tip.style.display='none'}
function clamp(x,a,w){return Math.min(Math.max(x,a),a+w)}
document.querySelectorAll('.album svg').forEach(function(svg){var dots=[];
svg.querySelectorAll('.h,rect.b').forEach(function(c){var t=c.querySelector('title');
function n(a,b){return +(c.getAttribute(a)||c.getAttribute(b)||0)}
var box=c.tagName=='rect';if(t)dots.push({x:n('cx','x'),y:n('cy','y'),t:t.textContent,
w:box?n('width'):0,h:box?n('height'):0})});
if(!dots.length)return;
svg.addEventListener('pointerleave',hide);
svg.addEventListener('pointermove',function(e){var b=svg.getBoundingClientRect();
var k=svg.viewBox.baseVal.width/b.width,x=(e.clientX-b.left)*k,y=(e.clientY-b.top)*k;
var best=null,far=900;dots.forEach(function(d){
var u=clamp(x,d.x,d.w)-x,v=clamp(y,d.y,d.h)-y,q=d.w?(u||v?900:0):u*u+v*v;
if(q<far){far=q;best=d}});if(!best)return hide();
tip.textContent=best.t;tip.style.display='block';
var left=b.left+window.scrollX+clamp(x,best.x,best.w)/k+12;
left=Math.min(left,window.scrollX+document.documentElement.clientWidth-tip.offsetWidth-8);
tip.style.left=left+'px';
tip.style.top=(b.top+window.scrollY+(best.y+best.h)/k+14)+'px'})})})();
