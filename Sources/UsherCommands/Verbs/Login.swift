import ArgumentParser
import UsherClient

struct LoginVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "login", abstract: "Sign in at a provider.",
    discussion: """
      Prints the page to open, opens it if there is a screen, and waits until the sign-in is done. \
      Over SSH, paste the address your browser ended at. Ctrl-C cancels the sign-in.

      With --resource, asks a service such as an MCP server which of the configured providers \
      issues its tokens (RFC 9728), and signs in there for it. Needs curl.

      \(FlowOptions.discussion)
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The provider's name.")
  var provider: String?

  @Option(
    help: ArgumentHelp(
      "Sign in at the provider that issues tokens for this service.", valueName: "url"))
  var resource: String?

  @Option(help: "The flow: authorize, or device to use another device's browser.")
  var kind = "authorize"

  @Option(help: "The scopes to request. Default: those in the configuration.")
  var scope: String?

  @Option(
    help: ArgumentHelp(
      "An audience for which tokens will be needed; may be repeated.", valueName: "audience"))
  var audience: [String] = []

  @Option(help: ArgumentHelp("Sign in to this account again.", valueName: "id"))
  var account: String?

  @Option(
    help: ArgumentHelp("User name to prefill on the provider's page.", valueName: "name"))
  var loginHint: String?

  @Option(
    help: ArgumentHelp(
      "Personal data to request, such as read.email; may be repeated.", valueName: "grant"))
  var grant: [String] = []

  @Flag(help: "Refresh tokens in the background.")
  var keepAlive = false

  @OptionGroup var flowOptions: FlowOptions

  func validate() throws {
    guard provider != nil || resource != nil else {
      throw ValidationError("Name a provider, or a service with --resource.")
    }
  }

  func run(at context: CommandContext) async throws {
    let (provider, forms) = try await target(at: context)
    let params = try await FlowParams(context: context, provider: provider, kind: kind)
      .json([:], forms, flowOptions.params)
    let flow = try await TerminalFlowRunner.run(
      provider, kind, params, at: context, flowOptions)
    try flow.checkSuccess()
    guard let account = flow.result?["account"]?.stringValue else {
      throw CommandFailure("the flow \(flow.id) succeeded without an account")
    }
    try await context.show(AccountGet(account: AccountID(account))) { reply in
      context.console.print("signed in as \(reply.account.label) (\(reply.account.id))")
      for line in earlierGrant(flow.result ?? .null, reply.account) {
        context.console.print(line)
      }
      if let resource {
        context.console.printMessage(
          "a token for the service: usherctl token get --account \(reply.account.id) --audience "
            + resource)
      }
      // A person who asks for a grant by name wants to see its result.
      if !grant.isEmpty {
        context.console.printProperties((flow.result?["profile"]?.objectValue ?? [:]).properties)
      }
    }
  }

  /// Returns the lines that say what the sign-in took from the account's earlier grant.
  private func earlierGrant(_ result: JSONValue, _ account: Account) -> [String] {
    switch result["earlierGrant"]?.stringValue {
    case "kept"?:
      return [
        "the account keeps its earlier grant, which has more scope or audiences than this one",
        "to replace it, run: usherctl token revoke --account \(account.id), and sign in again",
      ]
    case "replaced"?:
      let lost =
        (result["lostScope"]?.stringValue?.split(separator: " ").map(String.init) ?? [])
        + (result["lostAudiences"]?.arrayValue ?? []).compactMap(\.stringValue)
      return [
        "the new grant lacks what the earlier one had: \(lost.joined(separator: " "))",
        "to have both, name the account: usherctl login \(account.provider) --account "
          + "\(account.id), with what is missing as --scope and --audience",
      ]
    default: return []
    }
  }

  /// Returns the provider to sign in at, and the parameters of the sign-in.
  private func target(at context: CommandContext) async throws -> (String, [ShortForm]) {
    guard let resource else { return (provider ?? "", shortForms(scope, audience, [])) }
    let found = try await ProtectedResource.discover(resource, tools: context.environment.tools)
    let list = try await context.app.call(ProviderList())
    let issuing = try found.provider(of: list.providers, chosen: provider)
    // Only a scope that the resource chose is completed: it never has offline_access.
    let flow = issuing.flows.first { $0.kind == kind }
    let knowsOffline = flow?.params["properties"]?["offlineAccess"] != nil
    let isResourceScope = scope == nil && found.scope != nil
    let more: [ShortForm] = [
      ("--resource", "offlineAccess", isResourceScope && knowsOffline ? .some(true) : .none)
    ]
    return (
      issuing.name.rawValue, shortForms(scope ?? found.scope, [resource] + audience, more)
    )
  }

  private func shortForms(
    _ scope: String?, _ audience: [String], _ more: [ShortForm]
  ) -> [ShortForm] {
    more + [
      ("--scope", "scope", scope.map(JSONValue.string)),
      (
        "--audience", "audiences",
        audience.isEmpty ? JSONValue?.none : .array(audience.map(JSONValue.string))
      ),
      ("--account", "account", account.map(JSONValue.string)),
      ("--login-hint", "loginHint", loginHint.map(JSONValue.string)),
      // A plain nil would become JSON's null, which would be sent.
      ("--grant", "grants", grant.isEmpty ? JSONValue?.none : .array(grant.map(JSONValue.string))),
      ("--keep-alive", "keepAlive", keepAlive ? JSONValue?.some(true) : .none),
    ]
  }
}
