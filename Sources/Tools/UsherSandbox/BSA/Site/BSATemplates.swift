extension PageTemplates {
  static let bsaSite = """
    {{<layout}}
    {{$title}}Sign in · {{site}} · usher-sandbox{{/title}}
    {{$content}}
    <h1>Sign in to <span id="site">{{site}}</span></h1>
    {{#problem}}<p class="problem" id="problem" role="alert">{{text}}</p>{{/problem}}
    <form method="post" action="{{action}}" autocomplete="off">
    <input type="hidden" name="client" value="{{client}}">
    <label for="userKey">Your user key</label>
    <input id="userKey" name="userKey" value="{{userKey}}">
    <label for="number">OTP or TOTP number shown in your app</label>
    <input id="number" name="number" inputmode="numeric">
    <button id="push" type="submit" name="action" value="push">Send a push to my device</button>
    <button id="qr" type="submit" name="action" value="qr">Show a QR id</button>
    <button id="otp" type="submit" name="action" value="otp">Use the OTP number</button>
    <button id="totp" type="submit" name="action" value="totp">Use the TOTP number</button>
    </form>
    <h2>Registered users</h2>
    <table>
    {{#people}}<tr><td>{{userKey}}</td><td>{{name}}</td></tr>{{/people}}
    {{^people}}<tr><td>No users yet.</td></tr>{{/people}}
    </table>
    {{/content}}
    {{/layout}}
    """

  static let bsaSignIn = """
    {{<layout}}
    {{$head}}{{#live}}<meta http-equiv="refresh" content="2">{{/live}}{{/head}}
    {{$title}}Sign in · {{site}} · usher-sandbox{{/title}}
    {{$content}}
    <h1>Sign in to <span id="site">{{site}}</span></h1>
    <p>This sign-in is <strong id="state">{{state}}</strong>.</p>
    {{#person}}<p>You are signed in as <strong id="user">{{userKey}}</strong>, {{name}}.</p>{{/person}}
    {{#qr}}<p>Enter this QR id in your app:</p><pre id="qrId">{{id}}</pre>{{/qr}}
    {{#live}}
    <form method="post" action="{{action}}">
    <button id="cancel" type="submit" name="action" value="cancel">Cancel</button>
    </form>
    {{/live}}
    {{^live}}<p><a id="again" href="{{again}}">Sign in again</a></p>{{/live}}
    {{/content}}
    {{/layout}}
    """
}
