extension PageTemplates {
  static let freedomLogin = """
    {{<layout}}
    {{$title}}Sign in · Freedom ID · usher-sandbox{{/title}}
    {{$content}}
    <h1>Freedom ID</h1>
    {{#client}}<p>You are signing in to <strong id="client">{{name}}</strong>.</p>{{/client}}
    {{#problem}}<p class="problem" id="problem" role="alert">{{text}}</p>{{/problem}}
    <form method="post" action="{{action}}" autocomplete="off">
    <input type="hidden" name="transaction" value="{{transaction}}">
    <input type="hidden" name="csrf" value="{{csrf}}">
    {{#name}}
    <label for="name">Phone number or e-mail address</label>
    <input id="name" name="name" required>
    <label for="password">Password; leave it empty for a code by SMS</label>
    <input id="password" name="password" type="password">
    {{/name}}
    {{#code}}
    <label for="code">Code sent to <span id="to">{{to}}</span></label>
    <input id="code" name="code" inputmode="numeric" required>
    {{/code}}
    <button id="login" type="submit" name="action" value="login">Continue</button>
    {{#code}}
    <button id="resend" type="submit" name="action" value="resend" formnovalidate>Resend code</button>
    {{/code}}
    <button id="cancel" type="submit" name="action" value="cancel" formnovalidate>Cancel</button>
    </form>
    <h2>Test accounts</h2>
    <p>The <a href="/outbox">outbox</a> shows the codes.</p>
    <table>
    <tr><th>Name</th><th>Phone number</th><th>Password</th><th>2FA</th></tr>
    {{#people}}<tr><td>{{name}}</td><td>{{phone}}</td><td>{{password}}</td><td>{{twoFactor}}</td></tr>
    <tr><td></td><td colspan="3">{{email}}</td></tr>{{/people}}
    </table>
    {{/content}}
    {{/layout}}
    """

  static let freedomOwn = """
    {{<layout}}
    {{$title}}Your Freedom ID · usher-sandbox{{/title}}
    {{$content}}
    <h1>Your Freedom ID</h1>
    <p>You are <strong id="user">{{user}}</strong>.</p>
    <form method="post" action="{{action}}">
    <input type="hidden" name="transaction" value="{{transaction}}">
    <input type="hidden" name="csrf" value="{{csrf}}">
    <h2>Profile requests</h2>
    {{#requests}}
    <p><strong>{{client}}</strong> asks for <code>{{grants}}</code></p>
    <button class="accept" type="submit" name="accept" value="{{key}}">Accept</button>
    <button class="reject" type="submit" name="reject" value="{{key}}">Reject</button>
    {{/requests}}
    {{^requests}}<p id="nothing">No requests.</p>{{/requests}}
    <h2>Session</h2>
    <button id="logout" type="submit" name="action" value="logout">Log out</button>
    </form>
    {{/content}}
    {{/layout}}
    """
}
