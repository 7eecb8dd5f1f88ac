import ArgumentParser

/// The options of every command that runs a flow.
struct FlowOptions: ParsableArguments {
  @Option(
    name: .customLong("param"),
    help: ArgumentHelp("Set one parameter; may be repeated.", valueName: "name=value"))
  var params: [NamedParam] = []

  @Option(
    help: ArgumentHelp("Command that has your backend exchange a credential.", valueName: "command")
  )
  var exchangeCommand: String?

  @Flag(help: "Print page addresses; do not open a browser.")
  var noBrowser = false

  /// The help text about these options, for each command that has them.
  static let discussion = """
    A --param value is text, or JSON if the flow expects another type; usherctl provider show \
    lists the parameters. A dotted name sets a member of an object; @FILE or @- reads JSON from a \
    file or from standard input:
      --param eventId=e-1 --param verification.method=OTP
      --param 'verification={"method":"OTP"}' --param body=@payment.json

    At a prompt for a code, enter r or resend to request a new code, and < to go back; < also goes \
    back from the questions after the code.

    The shell runs --exchange-command when the flow hands out a credential. The command reads a \
    JSON object from standard input: code, requestId and, if the flow has them, codeVerifier and \
    redirectURI. Before the flow's deadline it writes the backend's answer to standard output as a \
    JSON object, such as {"accessToken":"…"}, or {"failure":{"reason":"…"}}. A non-zero exit \
    status means failure.
    """
}
