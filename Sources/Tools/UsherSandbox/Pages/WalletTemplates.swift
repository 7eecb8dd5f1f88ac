extension PageTemplates {
  static let walletLogin = """
    {{<layout}}
    {{$title}}Sign in · {{brand}} · usher-sandbox{{/title}}
    {{$content}}
    <h1>Sign in to {{brand}}</h1>
    <p>You are signing in to <strong id="client">{{client}}</strong>.</p>
    {{#locale}}<p>Language: <span id="locale">{{name}}</span></p>{{/locale}}
    {{#problem}}<p class="problem" id="problem" role="alert">{{text}}</p>{{/problem}}
    <form method="post" action="{{action}}" autocomplete="off">
    <input type="hidden" name="transaction" value="{{transaction}}">
    <input type="hidden" name="csrf" value="{{csrf}}">
    <label for="username">User name</label>
    <input id="username" name="username" value="{{username}}" required>
    <label for="{{field}}">Your {{label}}</label>
    <input id="{{field}}" name="{{field}}" type="password" required>
    <button id="login" type="submit" name="action" value="login">Sign in</button>
    <button id="deny" type="submit" name="action" value="deny" formnovalidate>Deny</button>
    </form>
    {{#reset}}<p><a id="reset" href="{{url}}">Forgotten? Reset your {{label}}.</a></p>{{/reset}}
    <h2>Test users</h2>
    <table>
    <tr><th>User name</th><th>{{label}}</th></tr>
    {{#users}}<tr><td>{{name}}</td><td>{{proof}}</td></tr>{{/users}}
    </table>
    {{/content}}
    {{/layout}}
    """

  static let approval = """
    {{<layout}}
    {{$title}}Approve · usher-sandbox{{/title}}
    {{$content}}
    <h1>Approve?</h1>
    <p><strong id="user">{{user}}</strong>, you are about to
    <strong id="summary">{{summary}}</strong>.</p>
    <form method="post" action="{{action}}">
    <button id="approve" type="submit" name="decision" value="approve">Approve</button>
    <button id="deny" type="submit" name="decision" value="deny">Deny</button>
    </form>
    {{/content}}
    {{/layout}}
    """
}
