// The token goes where the printed address would have taken it: the server makes it a cookie.
document.getElementById("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const token = document.getElementById("token").value.trim();
  location.replace(`/?token=${encodeURIComponent(token)}`);
});
