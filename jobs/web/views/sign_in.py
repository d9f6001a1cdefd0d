"""Signing in to an account that staff made."""

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _

from jobs.pictures.forms import mark_wrong


class SignInForm(AuthenticationForm):
    """One error message for a wrong name, a wrong password and a disabled account."""

    error_messages = {
        "invalid_login": _("Incorrect username or password."),
        "inactive": _("Incorrect username or password."),
    }

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = _("Username")
        self.fields["username"].error_messages["required"] = _("Enter your username.")
        self.fields["password"].error_messages["required"] = _("Enter your password.")
        if self.errors:
            # The summary of what is wrong has the focus then.
            del self.fields["username"].widget.attrs["autofocus"]
        mark_wrong(self)


class SignIn(LoginView):
    """`next` leads to a page of this site only."""

    authentication_form = SignInForm
    template_name = "sign_in.html"
    redirect_authenticated_user = True

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=422)

    def get_success_url(self) -> str:
        """Never this page again, which would redirect a signed-in user in a loop."""
        address = super().get_success_url()
        is_circle = address.startswith(self.request.path)
        return self.get_default_redirect_url() if is_circle else address
