// Everything that can be focused and says nothing about itself.
() => [...document.querySelectorAll("button, a[href], input, textarea, summary, [tabindex='0']")]
  .filter((element) => element.checkVisibility())
  .filter((element) => !(element.ariaLabel || element.labels?.length || element.textContent.trim()))
  .map((element) => element.outerHTML.slice(0, 120))
