// A slider beside each number field that names its end. The number is what is sent, so an empty or a larger one stays possible.

const STEP = 10;

function slide(field) {
  const slider = Object.assign(document.createElement("input"), { type: "range", min: 0, step: STEP });
  slider.ariaLabel = field.dataset.sliderLabel;

  const follow = () => {
    const value = Number(field.value || field.placeholder);
    slider.max = Math.max(Number(field.dataset.slider), Math.ceil(value / STEP) * STEP);
    slider.value = value;
    slider.ariaValueText = String(value);
  };

  slider.addEventListener("input", () => {
    field.value = slider.value;
    slider.ariaValueText = slider.value;
  });
  field.addEventListener("input", follow);
  field.after(slider);
  follow();
  return follow;
}

const followers = [...document.querySelectorAll("input[data-slider]")].map(slide);

// The browser fills in again what was typed before a reload.
if (followers.length) window.addEventListener("pageshow", () => followers.forEach((follow) => follow()));
