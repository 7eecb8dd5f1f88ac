import ArgumentParser

/// The options of every command that runs a flow.
struct FlowOptions: ParsableArguments {
  @Option(
    name: .customLong("param"),
    help: ArgumentHelp("One parameter; may be repeated.", valueName: "name=value"))
  var params: [NamedParam] = []

  @Option(
    help: ArgumentHelp("Has your backend exchange a credential.", valueName: "command"))
  var exchangeCommand: String?

  @Flag(help: "Print pages' addresses only.")
  var noBrowser = false

  /// The help text that explains these options.
  static let discussion = """
    A --param is a text, or JSON where the flow takes something else; usherctl provider show lists \
    what it takes. A dotted name is a member of an object, and @FILE or @- is JSON from a file or from \
    standard input:
      --param eventId=e-1 --param verification.method=OTP
      --param 'verification={"method":"OTP"}' --param body=@payment.json

    While a code is asked for, r or resend and Enter asks for a new one; < goes back, also from \
    what is asked besides.

    An --exchange-command is run by the shell when the flow hands out a credential. It reads JSON \
    from standard input: code, requestId, and codeVerifier and redirectURI where there are any. It \
    answers on standard output, within the time the flow gives it: a JSON object with what the \
    backend said, such as {"accessToken":"…"}, or {"failure":{"reason":"…"}}. To end with \
    another status than 0 is to fail.
    """
}
