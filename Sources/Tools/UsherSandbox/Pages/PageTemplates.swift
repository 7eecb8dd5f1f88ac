/// The mustache templates of ``Pages``. They are part of the program, so that it needs no files.
enum PageTemplates {
  static let all = [
    "layout": layout, "login": login, "consent": consent, "message": message, "index": index,
    "formPost": formPost, "outbox": outbox, "walletLogin": walletLogin, "approval": approval,
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
    <p>You are signing in to <strong id="client">{{client}}</strong>.</p>
    {{#problem}}<p class="problem" id="problem" role="alert">{{text}}</p>{{/problem}}
    <form method="post" action="{{action}}" autocomplete="off">
    <input type="hidden" name="transaction" value="{{transaction}}">
    <input type="hidden" name="csrf" value="{{csrf}}">
    {{#device}}
    <label for="user_code">Code shown on your device</label>
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
    <h2>Test users</h2>
    <table>
    <tr><th>User name</th><th>Password</th></tr>
    {{#users}}<tr><td>{{name}}</td><td>{{password}}</td></tr>{{/users}}
    </table>
    {{/content}}
    {{/layout}}
    """

  private static let formPost = """
    {{<layout}}
    {{$title}}Back to the application · usher-sandbox{{/title}}
    {{$content}}
    <h1>Back to the application</h1>
    <form id="answer" method="post" action="{{action}}">
    {{#fields}}<input type="hidden" name="{{name}}" value="{{value}}">
    {{/fields}}
    <button id="continue" type="submit">Continue</button>
    </form>
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
    {{^scope}}<li>no specific access</li>{{/scope}}
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
    <p>Messages sent by the providers, newest first. They are only shown here; with
    <code>--smtp</code>, e-mails also go to that mail server.</p>
    {{#messages}}
    <article id="{{id}}">
    <h2>{{provider}} {{channel}} to {{to}}</h2>
    <p>{{at}}{{#delivery}}; mail server: {{text}}{{/delivery}}</p>
    {{#subject}}<p><strong>{{text}}</strong></p>{{/subject}}
    <pre>{{text}}</pre>
    </article>
    {{/messages}}
    {{^messages}}<p>No messages yet.</p>{{/messages}}
    {{/content}}
    {{/layout}}
    """

  private static let index = """
    {{<layout}}
    {{$title}}usher-sandbox{{/title}}
    {{$content}}
    <h1>usher-sandbox</h1>
    <p>Local fakes of identity providers at <code>{{base}}</code>, for trying and testing usherd
    without a real account. All state is in memory and lost when usher-sandbox stops.</p>
    {{#backends}}
    <h2>{{title}}</h2>
    <ul>
    {{#links}}<li><a href="{{url}}">{{title}}</a></li>{{/links}}
    </ul>
    <p>Configuration for usherd:</p>
    <pre>{{sample}}</pre>
    {{/backends}}
    <h2>Test users</h2>
    <table>
    <tr><th>User name</th><th>Password</th><th>PIN</th><th>sub</th></tr>
    {{#users}}<tr><td>{{name}}</td><td>{{password}}</td><td>{{pin}}</td><td>{{sub}}</td></tr>
    <tr><td></td><td colspan="3">{{phone}} {{email}}</td></tr>{{/users}}
    </table>
    <h2>Control API for tests</h2>
    <ul>
    <li><a href="/outbox">Outbox</a>: messages sent by SMS, e-mail and push</li>
    <li><a href="/_control/users">Users</a></li>
    <li><a href="/_control/requests">Received requests</a></li>
    <li><a href="/_control/faults">Active faults</a>; to inject one:</li>
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
