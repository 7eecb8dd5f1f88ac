extension PageTemplates {
  static let gopayLogin = """
    {{<layout}}
    {{$title}}Log in · GoPay · usher-sandbox{{/title}}
    {{$content}}
    <h1>Link your GoPay account</h1>
    <p>You are linking it with <strong id="client">{{client}}</strong>.
    Language: <span id="lang">{{lang}}</span></p>
    {{#problem}}<p class="problem" id="problem" role="alert">{{text}}</p>{{/problem}}
    <form method="post" action="{{action}}" autocomplete="off">
    <input type="hidden" name="transaction" value="{{transaction}}">
    <input type="hidden" name="csrf" value="{{csrf}}">
    {{#known}}<p>You are <strong id="user">{{name}}</strong>.</p>{{/known}}
    {{#phone}}
    <label for="phone">Phone number</label>
    <input id="phone" name="phone" type="tel" required>
    {{/phone}}
    {{#otp}}
    <label for="otp">Code sent to <span id="to">{{to}}</span></label>
    <input id="otp" name="otp" inputmode="numeric" required>
    {{/otp}}
    {{#pin}}
    <label for="pin">PIN</label>
    <input id="pin" name="pin" type="password" inputmode="numeric" required>
    {{/pin}}
    {{#name}}
    <label for="name">Name for the new account</label>
    <input id="name" name="name" required>
    {{/name}}
    <button id="next" type="submit" name="action" value="next">Continue</button>
    {{#otp}}
    <button id="resend" type="submit" name="action" value="resend" formnovalidate>Resend code</button>
    {{/otp}}
    {{#known}}
    <button id="other" type="submit" name="action" value="other">Use another account</button>
    {{/known}}
    <button id="deny" type="submit" name="action" value="deny" formnovalidate>Decline</button>
    <button id="cancel" type="submit" name="action" value="cancel" formnovalidate>Cancel</button>
    </form>
    <h2>Test accounts</h2>
    <p>Any other number creates an account. The <a href="/outbox">outbox</a> shows the codes.</p>
    <table>
    <tr><th>Name</th><th>Phone number</th><th>PIN</th></tr>
    {{#people}}<tr><td>{{name}}</td><td>{{phone}}</td><td>{{pin}}</td></tr>{{/people}}
    </table>
    {{/content}}
    {{/layout}}
    """

  static let gopayCapture = """
    {{<layout}}
    {{$title}}Verify · GoPay · usher-sandbox{{/title}}
    {{$content}}
    <h1>Verify your identity</h1>
    <p><strong id="user">{{name}}</strong>, <strong id="client">{{partner}}</strong> asks you
    to verify your identity. No photograph is taken here.
    Language: <span id="lang">{{lang}}</span></p>
    {{#problem}}<p class="problem" id="problem" role="alert">{{text}}</p>{{/problem}}
    <form method="post" action="{{action}}">
    {{#card}}<button id="card" type="submit" name="action" value="card">Photograph your card</button>
    {{/card}}
    {{#face}}<button id="face" type="submit" name="action" value="face">Photograph your face</button>
    {{/face}}
    <button id="submit" type="submit" name="action" value="submit">Submit both photographs</button>
    <h2>Simulate an error</h2>
    {{#errors}}
    <button id="{{name}}" type="submit" name="action" value="{{name}}">{{label}}</button>
    {{/errors}}
    </form>
    {{/content}}
    {{/layout}}
    """
}
