/// The mustache templates of ``Pages``. They are part of the program, so that it needs no files.
enum PageTemplates {
  static let all = [
    "layout": layout, "login": login, "consent": consent, "message": message, "index": index,
    "outbox": outbox, "walletLogin": walletLogin, "approval": approval,
    "gopayLogin": gopayLogin, "gopayCapture": gopayCapture,
    "freedomLogin": freedomLogin, "freedomOwn": freedomOwn,
    "bsaSite": bsaSite, "bsaSignIn": bsaSignIn,
  ]

  private static let layout = """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    {{$head}}{{/head}}
    <title>{{$title}}usher-sandbox{{/title}}</title>
    <style>
    :root { color-scheme: light dark; --accent: #2563eb; }
    body { font: 16px/1.5 system-ui, sans-serif; max-width: 38rem; margin: 0 auto; padding: 1rem; }
    h1 { line-height: 1.2; } h2 { font-size: 1.1rem; margin-top: 2.5rem; }
    .notice { border-left: .3rem solid #b45309; background: #b4530918; padding: .6rem 1rem; }
    .problem { border-left: .3rem solid #b91c1c; background: #b91c1c18; padding: .6rem 1rem; }
    label { display: block; margin-top: .8rem; font-weight: 600; }
    input { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem .7rem; }
    input, button { border: 1px solid #8888; border-radius: .4rem; }
    button { font: inherit; margin: 1.2rem .5rem 0 0; padding: .5rem 1.4rem; cursor: pointer; }
    #login, #allow, #approve { background: var(--accent); border-color: var(--accent); color: white; }
    :focus-visible { outline: .2rem solid var(--accent); outline-offset: .1rem; }
    table { border-collapse: collapse; } td, th { text-align: left; padding: .2rem 1.5rem .2rem 0; }
    pre { overflow-x: auto; border: 1px solid #8888; border-radius: .4rem; padding: .7rem; }
    </style>
    </head>
    <body>
    <p class="notice" id="notice"><strong>usher-sandbox</strong> is a development tool, not a real
    identity provider. Never type a real password here.</p>
    <main>
    {{$content}}{{/content}}
    </main>
    </body>
    </html>
    """

  private static let login = """
    {{<layout}}
    {{$title}}Sign in · usher-sandbox{{/title}}
    {{$content}}
    <h1>Sign in</h1>
    <p>You sign in for <strong id="client">{{client}}</strong>.</p>
    {{#problem}}<p class="problem" id="problem" role="alert">{{text}}</p>{{/problem}}
    <form method="post" action="{{action}}" autocomplete="off">
    <input type="hidden" name="transaction" value="{{transaction}}">
    <input type="hidden" name="csrf" value="{{csrf}}">
    {{#device}}
    <label for="user_code">The code that your device shows</label>
    <input id="user_code" name="user_code" value="{{userCode}}" required>
    {{/device}}
    <label for="username">User name</label>
    <input id="username" name="username" value="{{username}}" required>
    <label for="password">Password</label>
    <input id="password" name="password" type="password" required>
    <button id="login" type="submit" name="action" value="login">Sign in</button>
    {{#cancel}}
    <button id="cancel" type="submit" name="action" value="cancel" formnovalidate>Cancel</button>
    {{/cancel}}
    </form>
    <h2>Who can sign in</h2>
    <table>
    <tr><th>User name</th><th>Password</th></tr>
    {{#users}}<tr><td>{{name}}</td><td>{{password}}</td></tr>{{/users}}
    </table>
    {{/content}}
    {{/layout}}
    """

  private static let consent = """
    {{<layout}}
    {{$title}}Allow access · usher-sandbox{{/title}}
    {{$content}}
    <h1>Allow access?</h1>
    <p><strong id="user">{{user}}</strong>, <strong id="client">{{client}}</strong> wants to:</p>
    <ul id="scope">
    {{#scope}}<li><code>{{name}}</code> {{meaning}}</li>{{/scope}}
    {{^scope}}<li>nothing in particular</li>{{/scope}}
    </ul>
    <form method="post" action="{{action}}">
    <input type="hidden" name="transaction" value="{{transaction}}">
    <input type="hidden" name="csrf" value="{{csrf}}">
    <button id="allow" type="submit" name="decision" value="allow">Allow</button>
    <button id="deny" type="submit" name="decision" value="deny">Deny</button>
    </form>
    {{/content}}
    {{/layout}}
    """

  private static let message = """
    {{<layout}}
    {{$title}}{{title}} · usher-sandbox{{/title}}
    {{$content}}
    <h1 id="title">{{title}}</h1>
    <p id="message">{{text}}</p>
    {{/content}}
    {{/layout}}
    """

  private static let outbox = """
    {{<layout}}
    {{$head}}<meta http-equiv="refresh" content="5">{{/head}}
    {{$title}}Outbox · usher-sandbox{{/title}}
    {{$content}}
    <h1>Outbox</h1>
    <p>What was sent, newest first. Nothing of it has left this machine.</p>
    {{#messages}}
    <article id="{{id}}">
    <h2>{{provider}} {{channel}} to {{to}}</h2>
    <p>{{at}}{{#delivery}}, by mail server: {{text}}{{/delivery}}</p>
    {{#subject}}<p><strong>{{text}}</strong></p>{{/subject}}
    <pre>{{text}}</pre>
    </article>
    {{/messages}}
    {{^messages}}<p>Nothing yet.</p>{{/messages}}
    {{/content}}
    {{/layout}}
    """

  private static let index = """
    {{<layout}}
    {{$title}}usher-sandbox{{/title}}
    {{$content}}
    <h1>usher-sandbox</h1>
    <p>Stand-ins for identity providers at <code>{{base}}</code>, so that usherd can be tried and
    tested without an account anywhere. All it knows is in memory and gone when it stops.</p>
    {{#backends}}
    <h2>{{title}}</h2>
    <ul>
    {{#links}}<li><a href="{{url}}">{{title}}</a></li>{{/links}}
    </ul>
    <p>Point usherd at it:</p>
    <pre>{{sample}}</pre>
    {{/backends}}
    <h2>Who can sign in</h2>
    <table>
    <tr><th>User name</th><th>Password</th><th>PIN</th><th>sub</th></tr>
    {{#users}}<tr><td>{{name}}</td><td>{{password}}</td><td>{{pin}}</td><td>{{sub}}</td></tr>
    <tr><td></td><td colspan="3">{{phone}} {{email}}</td></tr>{{/users}}
    </table>
    <h2>For tests</h2>
    <ul>
    <li><a href="/outbox">Outbox</a>: what was sent by SMS, e-mail and push</li>
    <li><a href="/_control/users">Users</a></li>
    <li><a href="/_control/requests">What came in</a></li>
    <li><a href="/_control/faults">Faults in force</a>; add one:</li>
    </ul>
    <pre>curl --json '{"endpoint":"token","fault":{"status":503},"times":1}' \\
      {{base}}/_control/faults</pre>
    <ul>
    {{#controls}}<li><code>{{method}} {{path}}</code></li>{{/controls}}
    </ul>
    {{/content}}
    {{/layout}}
    """
}
