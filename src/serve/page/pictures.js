/* Pictures: dropped, pasted, chosen, taken by the camera or, for nets of one channel, drawn. */
import { answerInto, byId, likeliest, make, page, predictions, showBars, latest } from "./ask.js";

const newest = latest();

async function lookAt(picture, name = picture.name || "picture.png") {
  if (!/^image\//.test(picture.type || "image/")) name = picture.name;
  const old = byId("preview").src;
  byId("preview").src = URL.createObjectURL(picture);
  byId("preview").hidden = false;
  if (old) URL.revokeObjectURL(old);
  await answerInto({
    path: predictions(), behind: byId("ways").lastElementChild, results: [byId("classes")], mine: newest(),
    options: { method: "POST", body: picture, name, headers: { "Content-Type": picture.type || "application/octet-stream" } },
    show: (said) => showBars(byId("classes"), Array.isArray(said) ? said.map((x, i) => ["output " + (i + 1), x]) : likeliest(said),
      { values: Array.isArray(said) }),
  });
}

/* ---- Camera, only once somebody presses ---------------------------------------------------- */

let stream = null;

function endCamera() {
  if (stream) for (const track of stream.getTracks()) track.stop();
  stream = null;
  byId("video").srcObject = null;
  byId("camera-box").hidden = true;
  byId("camera").textContent = "Use the camera";
}

async function beginCamera() {
  if (stream) {
    endCamera();
    return;
  }
  try {
    if (!navigator.mediaDevices) throw new Error("of this page: it wants https or this machine");
    stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
    byId("video").srcObject = stream;
    byId("camera-box").hidden = false;
    byId("camera").textContent = "Close the camera";
    byId("camera-trouble").textContent = "";
    await byId("video").play();
  } catch (error) {
    endCamera();
    byId("camera-trouble").textContent = "The browser gives no camera: " + (error.message || error.name);
  }
}

function takePicture() {
  const video = byId("video");
  if (!video.videoWidth) return;
  const canvas = make("canvas", { width: video.videoWidth, height: video.videoHeight });
  canvas.getContext("2d").drawImage(video, 0, 0);
  canvas.toBlob((blob) => lookAt(blob, "camera.jpg"), "image/jpeg", 0.9);
}

/* ---- Drawing pad -------------------------------------------------------------------------------- */

let pen = null; // where it was
let draws = null; // a pause, then the drawing is asked about

function clearPad() {
  const canvas = byId("pad"), c = canvas.getContext("2d");
  c.fillStyle = byId("pad-dark").checked ? "#fff" : "#000";
  c.fillRect(0, 0, canvas.width, canvas.height);
}

function stroke(x, y) {
  const c = byId("pad").getContext("2d"), from = pen || { x, y };
  c.strokeStyle = byId("pad-dark").checked ? "#000" : "#fff";
  c.lineWidth = byId("pad").width / 12;
  c.lineCap = c.lineJoin = "round";
  c.beginPath();
  c.moveTo(from.x, from.y);
  c.lineTo(x + 0.01, y);
  c.stroke();
  pen = { x, y };
  clearTimeout(draws);
  draws = setTimeout(askPad, 150);
}

/* As large as the net's pictures are, so that what is sent is small; the server scales anyhow. */
function askPad() {
  const [, width, height] = /^(\d+) x (\d+)/.exec(page.model().facts.images) || [0, 28, 28];
  const canvas = make("canvas", { width, height }), c = canvas.getContext("2d");
  c.imageSmoothingQuality = "high";
  c.drawImage(byId("pad"), 0, 0, width, height);
  canvas.toBlob((blob) => lookAt(blob, "drawing.png"), "image/png");
}

function onPad(event) {
  const box = byId("pad").getBoundingClientRect();
  return [((event.clientX - box.left) * byId("pad").width) / box.width, ((event.clientY - box.top) * byId("pad").height) / box.height];
}

/* Arrow keys move the pen and draw; with Shift they only move it. */
function padKeys(event) {
  const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  if (!by) return;
  event.preventDefault();
  const size = byId("pad").width, step = size / 28, from = pen || { x: size / 2, y: size / 2 };
  const to = [from.x + by[0] * step, from.y + by[1] * step].map((x) => Math.min(size, Math.max(0, x)));
  if (event.shiftKey) {
    pen = { x: to[0], y: to[1] };
  } else {
    pen = from;
    stroke(...to);
  }
}

/* ---- Wiring ---------------------------------------------------------------------------------------- */

byId("file").addEventListener("change", (event) => { if (event.target.files[0]) lookAt(event.target.files[0]); });
for (const [name, over] of [["dragover", true], ["dragleave", false], ["drop", false]])
  byId("drop").addEventListener(name, (event) => {
    event.preventDefault();
    byId("drop").classList.toggle("over", over);
    if (name === "drop" && event.dataTransfer.files[0]) lookAt(event.dataTransfer.files[0]);
  });
document.addEventListener("paste", (event) => {
  const picture = [...event.clipboardData.files].find((file) => /^image\//.test(file.type));
  if (picture && !byId("image").hidden && !byId("panel").hidden) lookAt(picture);
});
byId("camera").addEventListener("click", beginCamera);
byId("take").addEventListener("click", takePicture);
byId("pad").addEventListener("pointerdown", (event) => {
  event.currentTarget.setPointerCapture(event.pointerId);
  pen = null;
  stroke(...onPad(event));
});
byId("pad").addEventListener("pointermove", (event) => { if (event.buttons) stroke(...onPad(event)); });
byId("pad").addEventListener("keydown", padKeys);
for (const [id, when] of [["pad-clear", "click"], ["pad-dark", "change"]])
  byId(id).addEventListener(when, () => {
    pen = null;
    clearPad();
    byId("classes").replaceChildren();
    byId("preview").hidden = true;
  });

export const pictures = {
  show() {
    endCamera();
    byId("file").value = "";
    byId("preview").hidden = true;
    byId("pad-box").hidden = !/ x 1$/.test(page.model().facts.images);
    clearPad();
  },
  end: endCamera,
};
